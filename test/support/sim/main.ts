/**
 * Entry point of a simulation process. `main.ts FIRST COUNT` runs COUNT seeds from FIRST on, until one fails,
 * and prints a summary as one line of JSON. `main.ts FIRST COUNT SEED` runs SEED before them. `FAULTS` is a
 * list of faults, separated by commas, that every run includes besides those that its seed draws. `STANDBY`
 * (`on` or `off`) states whether the worlds have standbys, and `STREAMS` whether they have streams; by
 * default each seed decides.
 */
import './hooks.ts';
import { faultNames, gatewayFaultNames } from './faults/fault-names.ts';

// Imported after the hooks are in place.
const { simulate } = await import('./simulate.ts');

export interface Outcome {
  runs: number;
  counts: Record<string, number>;
  virtualMs: number;
  cpuMs: number;
  failed: { seed: number; failure: string; trace: readonly string[]; traceHash: string } | null;
  /** Hash of the last seed's trace. */
  traceHash: string;
}

const [first = 1, count = 1, ...before] = process.argv.slice(2).map(Number);
const always = [...faultNames, ...gatewayFaultNames].filter((name) =>
  (process.env.FAULTS ?? '').split(',').includes(name),
);
const given = (setting: string | undefined) => (setting === undefined ? undefined : setting === 'on');
const standby = given(process.env.STANDBY);
const streams = given(process.env.STREAMS);
const lastLines = Number(process.env.TRACE_LINES ?? 200);
const began = process.cpuUsage();
const outcome: Outcome = { runs: 0, counts: {}, virtualMs: 0, cpuMs: 0, failed: null, traceHash: '' };
for (const seed of [...before, ...Array.from({ length: count }, (_, at) => first + at)]) {
  if (outcome.failed) break;
  const { counts, failure, trace, virtualMs, traceHash } = await simulate(seed, always, standby, streams);
  outcome.runs += 1;
  outcome.virtualMs += virtualMs;
  outcome.traceHash = traceHash;
  for (const [what, times] of Object.entries(counts))
    outcome.counts[what] = (outcome.counts[what] ?? 0) + times;
  if (failure !== undefined) outcome.failed = { seed, failure, trace: trace.slice(-lastLines), traceHash };
}
outcome.cpuMs = Math.round(process.cpuUsage(began).user / 1000);
process.stdout.write(`${JSON.stringify(outcome)}\n`);
