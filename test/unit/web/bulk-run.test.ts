import { expect, test } from 'vitest';
import type { ExecutionLine } from '../../../control-plane/core/views/execution-views.ts';
import {
  advanced,
  fieldsOf,
  MAX_RUN,
  matchesOf,
  nextQuery,
  type Run,
  readRun,
} from '../../../control-plane/web/pages/executions/bulk-run.ts';

const begun = (fields: Record<string, string> = {}): Run =>
  readRun({ deed: 'terminate', from: '5000', ...fields });
const lines = (...ids: number[]) => ids.map((id) => ({ id, timeSubmitMs: 1_000 + id }) as ExecutionLine);

test('W160: a run on all that match finds what was submitted before it was confirmed, and goes on after the last one, or where a search stopped', () => {
  const first = begun({ name: 'night' });
  expect(nextQuery(first)).toMatchObject({ name: 'night', before: '5000-999999999999999' });
  expect(nextQuery(advanced(first, { lines: lines(9, 8) }, 2))).toMatchObject({ before: '1008-8' });
  const searched = { lines: lines(9), searchEnd: { timeSubmitMs: 3, id: 2 } };
  const next = advanced(begun({ name: 'x' }), searched, 2);
  expect(nextQuery(next)).toMatchObject({ state: 'submitted', before: '3-2' });
});

test('W160: a termination takes one state after the other, in the order in which executions pass them', () => {
  const states: unknown[] = [];
  let run = begun();
  for (let query = nextQuery(run); query; query = nextQuery(run)) {
    states.push(query.state);
    run = advanced(run, { lines: [] }, 2);
  }
  expect(states).toEqual(['submitted', 'queued', 'starting', 'running']);
  expect(nextQuery(begun({ state: 'terminated' }))).toBeUndefined();
  const deletion = begun({ deed: 'delete' });
  expect(nextQuery(deletion)?.state).toBeUndefined();
  expect(nextQuery(advanced(deletion, { lines: [] }, 2))).toBeUndefined();
});

test('W162: a run on all that match ends at its bound, whether its work succeeds or fails', () => {
  expect(nextQuery(begun({ done: String(MAX_RUN - 2), failed: '1' }))).toBeDefined();
  expect(nextQuery(begun({ done: String(MAX_RUN - 2), failed: '2' }))).toBeUndefined();
});

test('W162: the fields of the form of a run make the same run again, and bad ones count as absent', () => {
  const before = { ...begun({ state: 'queued', owner: 'ann' }), done: 3, total: 9, reason: 'why' };
  const run = advanced(before, { lines: lines(7) }, 1);
  expect(readRun(Object.fromEntries(fieldsOf(run)))).toEqual(run);
  const bad = readRun({ deed: 'x', done: '-1', failed: '1e99', total: 'many', before: "1'", stage: '0.5' });
  expect(bad).toMatchObject({ deed: 'terminate', done: 0, failed: 0, total: 0, stage: 0 });
  expect(bad.query.before).toBeUndefined();
});

test('W160: a run on all that match counts what it would find, as far as that is known', () => {
  const counts = new Map([
    ['queued', 2],
    ['running', 3],
    ['terminated', 5],
  ] as const);
  expect(matchesOf({ counts }, begun())).toBe(5);
  expect(matchesOf({ counts }, begun({ deed: 'delete' }))).toBe(10);
  expect(matchesOf({ counts }, begun({ deed: 'delete', state: 'error' }))).toBe(0);
  expect(matchesOf({ counts: undefined }, begun())).toBeUndefined();
});
