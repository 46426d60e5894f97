/** Runs seeds one after the other until one fails, in this process, with a mutant or without. */
import type { FaultName } from './faults/fault-names.ts';
import { loadSimulation } from './graphs.ts';
import { mutants } from './mutants/mutants.ts';

export interface Series {
  seeds: readonly number[];
  mutant?: string | undefined;
  /** Faults that every run includes besides those that its seed draws. */
  faults: readonly FaultName[];
  /** Whether the worlds have standbys. By default each seed decides. */
  standby: boolean | undefined;
  /** The same for streams. */
  streams: boolean | undefined;
  /** Length of the trace of a failed seed. */
  traceLines: number;
}

export interface Outcome {
  runs: number;
  counts: Record<string, number>;
  virtualMs: number;
  cpuMs: number;
  failed: { seed: number; failure: string; trace: readonly string[]; traceHash: string } | null;
  /** Hash of the last seed's trace. */
  traceHash: string;
}

export async function runSeries(series: Series): Promise<Outcome> {
  const { seeds, faults, standby, streams, traceLines } = series;
  const simulate = await loadSimulation(mutantOf(series));
  const began = process.cpuUsage();
  const outcome: Outcome = { runs: 0, counts: {}, virtualMs: 0, cpuMs: 0, failed: null, traceHash: '' };
  for (const seed of seeds) {
    const { counts, failure, trace, virtualMs, traceHash } = await simulate(seed, faults, standby, streams);
    outcome.runs += 1;
    outcome.virtualMs += virtualMs;
    outcome.traceHash = traceHash;
    for (const [what, times] of Object.entries(counts))
      outcome.counts[what] = (outcome.counts[what] ?? 0) + times;
    if (failure === undefined) continue;
    outcome.failed = { seed, failure, trace: trace.slice(-traceLines), traceHash };
    break;
  }
  outcome.cpuMs = Math.round(process.cpuUsage(began).user / 1000);
  await settle();
  return outcome;
}

function mutantOf({ mutant }: Series) {
  const found = mutants.find(({ name }) => name === mutant);
  if (mutant !== undefined && !found)
    throw new Error(`${mutant} is not a mutant; the names are in test/support/sim/mutants`);
  return found;
}

/**
 * Waits for what a failed world has left to the machine, such as hashes. Its other work never continues,
 * since its events are in no queue any more. An error of that work belongs to no later world.
 */
async function settle(): Promise<void> {
  const ignore = () => {};
  process.on('unhandledRejection', ignore);
  const isBusy = () => process.getActiveResourcesInfo().some((name) => name.endsWith('Request'));
  do await new Promise((resolve) => setImmediate(resolve));
  while (isBusy());
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', ignore);
}
