/**
 * Entry of a simulation's process: `main.ts FIRST COUNT` runs so many seeds, up to the first that fails, and tells as one
 * JSON line what happened in all of them, and how that one ended.
 */
import './hooks.ts';

// Only now, since from here on the hooks decide what is loaded.
const { simulate } = await import('./simulate.ts');

export interface Outcome {
  runs: number;
  counts: Record<string, number>;
  virtualMs: number;
  cpuMs: number;
  failed: { seed: number; failure: string; trace: readonly string[]; traceHash: string } | null;
  /** Of the last trace. */
  traceHash: string;
}

const [first = 1, count = 1] = process.argv.slice(2).map(Number);
const lastLines = Number(process.env.TRACE_LINES ?? 200);
const began = process.cpuUsage();
const outcome: Outcome = { runs: 0, counts: {}, virtualMs: 0, cpuMs: 0, failed: null, traceHash: '' };
for (let seed = first; seed < first + count && !outcome.failed; seed++) {
  const { counts, failure, trace, virtualMs, traceHash } = await simulate(seed);
  outcome.runs += 1;
  outcome.virtualMs += virtualMs;
  outcome.traceHash = traceHash;
  for (const [what, times] of Object.entries(counts))
    outcome.counts[what] = (outcome.counts[what] ?? 0) + times;
  if (failure !== undefined) outcome.failed = { seed, failure, trace: trace.slice(-lastLines), traceHash };
}
outcome.cpuMs = Math.round(process.cpuUsage(began).user / 1000);
process.stdout.write(`${JSON.stringify(outcome)}\n`);
