import { beforeAll, describe, expect, test } from 'vitest';
import { type FaultName, faultNames } from '../support/sim/faults/fault-names.ts';
import { failureReport, runManySeeds, runSeeds } from '../support/sim/runs.ts';
import type { Outcome } from '../support/sim/series.ts';

/** Number of seeds in `npm test`. */
const DEFAULT_RUNS = 500;
/**
 * `SEED=7` runs that seed; `SEED=7 RUNS=100` runs 100 seeds from 7; `RUNS=5000` runs more than the default.
 */
const FIRST = Number(process.env.SEED ?? 1);
const RUNS = Number(process.env.RUNS ?? (process.env.SEED === undefined ? DEFAULT_RUNS : 1));
/** Number of seeds from which on every event must have occurred. */
const RUNS_FOR_ALL_EVENTS = 500;
/** Events that must occur, besides every fault. */
const EVENTS = [
  'answer: submitted',
  'answer: repeated',
  'answer: terminated',
  'answer: deleted',
  'request: unavailable',
  'request: too-many',
  'execution: queued to starting',
  'execution: starting to queued',
  'execution: starting to running',
  'execution: running to cleaning up',
  'execution: cleaning up to terminated',
  'execution: cleaning up to error',
  'execution: ended by its time limit',
  'execution: purged',
  'execution: removed after its time',
  'execution: moved',
  'service: started again',
  'service: active once it is healthy',
  'service: died of its health',
  'service: restarted by its policy',
  'service: died beyond its restart policy',
  'service: releases its capacity',
  'service: moved to another host',
  'log: ended',
  'fault: a log subscriber stalls',
  'fault: a log subscriber disconnects',
  'fault: terminate and delete race',
  'fault: cut after a frame',
  'fault: half-open',
  'disk: no space',
  'engine: hung',
  'engine: answered 500',
  'pull: stall',
  'agent: refused',
  'answer: drained by force',
  'answer: removed',
  'answer: removed, with executions requeued',
  'observed: gone after its lease expired',
  'standby fault',
  'takeover: by a standby',
  'secrets: given',
  'secrets: refused',
  'stream: opened',
  'stream: output ended',
  'stream: ended complete',
  'stream: ended with a reason',
  'stream: refused for a bound',
  'stream: left by its client',
  'stream: lost with its control plane',
  'fault: a session with streams is revoked',
  'fault: a host loses its connection with streams open',
  'fault: a client sends beyond its credit',
];

let outcome: Outcome;

describe(`${RUNS} seeds from ${FIRST} on`, () => {
  beforeAll(async () => {
    outcome = await runManySeeds(FIRST, RUNS);
  }, 300_000);

  test('C1, C2, C3, C14, C15, C42, C43, C52, C90, C260, C67, C92, C93, C94, C97, C103, C105, C107, C123, C124, H60, P5, P6, P7, P8, P9, P10, P32, P33, P60, C173, C198, C240, C246, C252, C253, C255, C256, C270, C284, C288, C289, C290, C302, C303, C304, C305, C306, P191, H355: under any faults every promise is kept, and after the faults everything settles', () => {
    if (outcome.failed) throw new Error(failureReport(outcome.failed));
    expect(outcome.runs).toBe(RUNS);
  });

  if (RUNS >= RUNS_FOR_ALL_EVENTS)
    test('every fault and every kind of event has occurred', () => {
      const wanted = [...faultNames.map((name: FaultName) => `fault: ${name}`), ...EVENTS];
      expect(wanted.filter((what) => !((outcome.counts[what] ?? 0) >= 3))).toEqual([]);
    });
});

test('the same seed gives the same events at the same times', async () => {
  const traces = await Promise.all([runSeeds(FIRST, 1), runSeeds(FIRST, 1)]);
  expect(traces[0].traceHash).not.toBe('');
  expect(traces[1].traceHash).toBe(traces[0].traceHash);
}, 60_000);
