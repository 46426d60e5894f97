/** Runs simulations in processes of their own, where the module hooks apply. */
import { startProgram } from '../hosts/process.ts';
import { mutants } from './mutants/mutants.ts';
import type { Outcome, Series } from './series.ts';

const PROCESSES = 2;
/** A process starts for no fewer seeds: its start takes as much processor time as ten of them. */
const MIN_SHARE = 100;
const TRACE_LINES = 200;

/** What so many seeds take at most, on a machine that is busy otherwise. */
export const maxDurationMs = (seeds: number): number => 60_000 + 3_000 * seeds;

/** A process that runs one series after the other. */
export class SimulationProcess {
  readonly #program = startProgram(['test/support/sim/main.ts'], { hasChannel: true });

  /** Rejects if the process ends or the series takes too long. The process has ended then. */
  async run(series: Series): Promise<Outcome> {
    try {
      return (await this.#program.request(series, maxDurationMs(series.seeds.length))) as Outcome;
    } catch (error) {
      await this.end();
      throw error;
    }
  }

  end(): Promise<void> {
    return this.#program.kill();
  }
}

/** Runs seeds from `first` on, until one fails. */
export async function runSeeds(first: number, count: number): Promise<Outcome> {
  const process = new SimulationProcess();
  const seeds = Array.from({ length: count }, (_, at) => first + at);
  const outcome = await process.run({
    ...{ seeds, faults: [], traceLines: TRACE_LINES, standby: undefined, streams: undefined },
  });
  await process.end();
  return outcome;
}

/** Searches for mutants in processes that serve one mutant after the other (TEST-20). */
export class MutantSearch {
  readonly #free: SimulationProcess[] = [];

  /** Tries the seed that found the mutant last, then all seeds from 1 on, until one finds it. */
  async find(mutant: string, last: number | undefined, maxSeeds: number): Promise<Outcome> {
    const found = mutants.find(({ name }) => name === mutant);
    const { faults = [], standby = false, streams = false } = found ?? {};
    const seeds = Array.from({ length: maxSeeds }, (_, at) => at + 1);
    if (last !== undefined) seeds.unshift(last);
    const process = this.#free.pop() ?? new SimulationProcess();
    const outcome = await process.run({ seeds, mutant, faults, standby, streams, traceLines: TRACE_LINES });
    this.#free.push(process);
    return outcome;
  }

  async end(): Promise<void> {
    await Promise.all(this.#free.splice(0).map((process) => process.end()));
  }
}

/** Runs the seeds in several processes at once. The trace is that of the last seed. */
export async function runManySeeds(first: number, count: number): Promise<Outcome> {
  const share = Math.max(Math.ceil(count / PROCESSES), MIN_SHARE);
  const begins = Array.from({ length: PROCESSES }, (_, at) => at * share).filter((at) => at < count);
  const outcomes = await Promise.all(begins.map((at) => runSeeds(first + at, Math.min(share, count - at))));
  return outcomes.reduce(combined);
}

function combined(one: Outcome, other: Outcome): Outcome {
  const counts = { ...one.counts };
  for (const [what, times] of Object.entries(other.counts)) counts[what] = (counts[what] ?? 0) + times;
  return {
    ...one,
    counts,
    runs: one.runs + other.runs,
    virtualMs: one.virtualMs + other.virtualMs,
    cpuMs: one.cpuMs + other.cpuMs,
    failed: one.failed ?? other.failed,
    traceHash: other.traceHash,
  };
}

export const failureReport = ({ seed, failure, trace }: NonNullable<Outcome['failed']>): string =>
  [
    `Seed ${seed}: ${failure}`,
    'Last events, in seconds of virtual time:',
    ...trace,
    `Run this seed again: SEED=${seed} npm run test:sim -- seeds`,
  ].join('\n');
