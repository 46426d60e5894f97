import { expect, test } from 'vitest';
import {
  SILENCE_MS,
  type Sighting,
  verdictOf,
  type Watch,
  watch,
} from '../../../../control-plane/core/state/takeover-watch.ts';

const holder: Sighting = { epoch: 3, beats: 10, isBeating: true };

/** The verdict after these sightings, one a second from 0 on; undefined: the database did not answer. */
function verdictAfter(sightings: readonly (Sighting | undefined)[], answerMs = 5) {
  let result: Watch | undefined;
  sightings.forEach((seen, at) => {
    const sentMs = at * 1_000;
    result = seen && watch(result, seen, { sentMs, receivedMs: sentMs + answerMs });
  });
  return result && verdictOf(result);
}

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

test('C253: a standby takes over once the counter has stood still for 8 s, and not before', () => {
  expect(SILENCE_MS).toBe(8_000);
  expect(verdictAfter(times(9, holder))).toBe('wait');
  expect(verdictAfter(times(10, holder))).toBe('take-over');
});

test('C253: a counter that moves, or a new epoch, begins the time anew', () => {
  const moved = { ...holder, beats: 11 };
  expect(verdictAfter([...times(8, holder), ...times(9, moved)])).toBe('wait');
  expect(verdictAfter([...times(8, holder), ...times(10, moved)])).toBe('take-over');
  expect(verdictAfter([...times(8, holder), ...times(9, { ...holder, epoch: 4 })])).toBe('wait');
});

test('C253: the time for which an answer was under way does not count', () => {
  // The counter may have moved right before the first answer, and again right after the last request.
  expect(verdictAfter(times(10, holder), 3_000)).toBe('wait');
});

test('C254: a database that does not answer begins the time anew', () => {
  expect(verdictAfter([...times(8, holder), undefined, ...times(9, holder)])).toBe('wait');
});

test('C254: a sighting long after the one before begins the time anew', () => {
  const before = watch(undefined, holder, { sentMs: 0, receivedMs: 5 });
  const after = watch(before, holder, { sentMs: 60_000, receivedMs: 60_005 });
  expect(verdictOf(after)).toBe('wait');
});

test('C251: a standby takes over at once if no control plane has used the database', () => {
  expect(verdictAfter([{ epoch: 0, beats: 0, isBeating: false }])).toBe('take-over');
});

test('C255: a holder that moves no counter is never superseded', () => {
  expect(verdictAfter(times(1_000, { ...holder, isBeating: false }))).toBe('cannot-watch');
});
