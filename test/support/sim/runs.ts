/** Runs simulations in processes of their own, where the module hooks apply. */
import { startProgram } from '../hosts/process.ts';
import type { Outcome } from './main.ts';
import { mutants } from './mutants/mutants.ts';

const PROCESSES = 2;
const MAX_DURATION_MS = 570_000;

export interface RunOptions {
  /** Name of a mutant. */
  mutant?: string;
  /** A seed to run before the others. */
  seedBefore?: number | undefined;
  traceLines?: number;
}

/** Runs seeds from `first` on, until one fails. */
export async function runSeeds(first: number, count: number, options: RunOptions = {}): Promise<Outcome> {
  const { mutant, seedBefore, traceLines = process.env.TRACE_LINES ?? 200 } = options;
  const { faults = [], standby = false, streams = false } = mutants.find(({ name }) => name === mutant) ?? {};
  const env = {
    TRACE_LINES: String(traceLines),
    ...(mutant === undefined
      ? {}
      : {
          ...{ MUTANT: mutant, FAULTS: faults.join(',') },
          ...{ STANDBY: standby ? 'on' : 'off', STREAMS: streams ? 'on' : 'off' },
        }),
  };
  const seeds = [first, count, ...(seedBefore === undefined ? [] : [seedBefore])].map(String);
  const program = startProgram(['test/support/sim/main.ts', ...seeds], { env });
  const end = await program.waitForEnd(MAX_DURATION_MS);
  const line = program.output.trim().split('\n').at(-1) ?? '';
  if (end !== 0 || !line.startsWith('{'))
    throw new Error(`the simulation process ended with exit code ${end}: ${program.output}`);
  return JSON.parse(line) as Outcome;
}

/** Runs the seeds in several processes at once. */
export async function runManySeeds(first: number, count: number): Promise<Outcome> {
  const share = Math.ceil(count / PROCESSES);
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
  };
}

/** Report of a failed seed for people. */
export const failureReport = ({ seed, failure, trace }: NonNullable<Outcome['failed']>): string =>
  [
    `Seed ${seed}: ${failure}`,
    'Last events, in seconds of virtual time:',
    ...trace,
    `Run this seed again: SEED=${seed} npm run test:sim`,
  ].join('\n');
