import { beforeAll, describe, expect, test } from 'vitest';
import { faultNames } from '../support/sim/faults/fault-names.ts';
import { failureReport, maxDurationMs, runManySeeds, runSeeds } from '../support/sim/runs.ts';
import type { Outcome } from '../support/sim/series.ts';
import { testsAll } from '../support/tools/scope.ts';

const DEFAULT_RUNS = testsAll ? 500 : 60;
/**
 * `SEED=7` runs that seed; `SEED=7 RUNS=100` runs 100 seeds from 7; `RUNS=5000` runs more than the default.
 */
const FIRST = Number(process.env.SEED ?? 1);
const RUNS = Number(process.env.RUNS ?? (process.env.SEED === undefined ? DEFAULT_RUNS : 1));
/** Events of a quarter of the worlds or more: one set of 60 worlds in 10 million lacks a given one. */
const COMMON_EVENTS = [
  'answer: submitted',
  'answer: repeated',
  'answer: terminated',
  'answer: deleted',
  'request: unavailable',
  'request: too-many',
  'execution: queued to starting',
  'execution: starting to running',
  'execution: running to cleaning up',
  'execution: cleaning up to terminated',
  'execution: cleaning up to error',
  'execution: ended by its time limit',
  'execution: purged',
  'execution: moved',
  'service: started again',
  'service: active once it is healthy',
  'service: releases its capacity',
  'service: moved to another host',
  'log: ended',
  'fault: a log subscriber disconnects',
  'fault: terminate and delete race',
  'observed: gone after its lease expired',
  'secrets: given',
  'secrets: refused',
  'stream: opened',
  'stream: ended with a reason',
  'fault: a session with streams is revoked',
];
/** Events of at least one world in 30, as is each fault: one set of 500 in 10 million lacks a given one. */
const RARE_EVENTS = [
  'execution: starting to queued',
  'execution: removed after its time',
  'service: died of its health',
  'service: restarted by its policy',
  'service: died beyond its restart policy',
  'fault: a log subscriber stalls',
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
  'standby fault',
  'takeover: by a standby',
  'stream: output ended',
  'stream: ended complete',
  'stream: refused for a bound',
  'stream: left by its client',
  'stream: lost with its control plane',
  'fault: a host loses its connection with streams open',
  'fault: a client sends beyond its credit',
  ...['tcp', 'exec', 'files-in', 'files-out', 'http', 'websocket'].map((kind) => `stream: complete, ${kind}`),
];

let outcome: Outcome;

describe(`${RUNS} seeds from ${FIRST} on`, () => {
  beforeAll(async () => {
    outcome = await runManySeeds(FIRST, RUNS);
  }, maxDurationMs(RUNS));

  test('C1, C2, C3, C14, C15, C42, C43, C52, C90, C260, C67, C92, C93, C94, C97, C103, C105, C107, C123, C124, H60, P5, P6, P7, P8, P9, P10, P32, P33, P60, C173, C198, C240, C246, C252, C253, C255, C256, C270, C284, C288, C289, C290, C302, C303, C304, C305, C306, P191, H355: under any faults every promise is kept, and after the faults everything settles', () => {
    if (outcome.failed) throw new Error(failureReport(outcome.failed));
    expect(outcome.runs).toBe(RUNS);
  });

  test('the last seed gives the same events at the same times once more', async () => {
    const again = await runSeeds(FIRST + RUNS - 1, 1);
    expect(again.traceHash).toBe(outcome.traceHash);
  }, 60_000);

  if (RUNS >= 60)
    test('every common event has occurred, and in 500 seeds every fault and every event', () => {
      const faults = faultNames.map((name) => `fault: ${name}`);
      const wanted = RUNS < 500 ? COMMON_EVENTS : [...COMMON_EVENTS, ...RARE_EVENTS, ...faults];
      expect(wanted.filter((what) => !outcome.counts[what])).toEqual([]);
    });
});
