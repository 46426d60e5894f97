import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { GIVE_UP_MS, Reconnection } from '../../../../control-plane/web/browser/parts/reconnection.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** When a connection that never answers is tried, in ms after its loss, and when it is given up. */
function tried(answer: (one: Reconnection, tries: number) => void) {
  const triesMs: number[] = [];
  const abandonedMs: number[] = [];
  let gaveUpMs: number | undefined;
  const beganMs = performance.now();
  const sinceMs = () => performance.now() - beganMs;
  const one: Reconnection = new Reconnection({
    connect: () => {
      triesMs.push(sinceMs());
      answer(one, triesMs.length);
    },
    abandon: () => {
      abandonedMs.push(sinceMs());
      one.lost();
    },
    gaveUp: () => {
      gaveUpMs = sinceMs();
    },
  });
  one.lost();
  vi.advanceTimersByTime(10 * GIVE_UP_MS);
  return { one, triesMs, abandonedMs, gaveUpMs };
}

test('W238: a connection is tried after pauses that grow, and given up after two minutes', () => {
  const { triesMs, gaveUpMs } = tried((one) => one.lost());
  const pauses = triesMs.map((ms, n) => ms - (triesMs[n - 1] ?? 0));
  expect(pauses.slice(0, 7)).toEqual([250, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
  expect([gaveUpMs, triesMs.every((ms) => ms < GIVE_UP_MS), vi.getTimerCount()]).toEqual([
    ...[GIVE_UP_MS, true, 0],
  ]);
});

test('W238: a try without an answer is abandoned after 10 s, and the next one follows', () => {
  const { triesMs, abandonedMs, gaveUpMs } = tried(() => {});
  expect([triesMs.slice(0, 2), abandonedMs[0]]).toEqual([[250, 11_250], 10_250]);
  expect(gaveUpMs).toBeGreaterThanOrEqual(GIVE_UP_MS);
  expect(gaveUpMs).toBeLessThan(GIVE_UP_MS + 10_000);
});

test('W238: once connected, no more is tried, and the next loss begins with the first pause', () => {
  const { one, triesMs, gaveUpMs } = tried((it, tries) => (tries === 3 ? it.connected() : it.lost()));
  expect([triesMs.length, gaveUpMs, vi.getTimerCount()]).toEqual([3, undefined, 0]);
  one.lost();
  vi.advanceTimersByTime(250);
  expect(triesMs).toHaveLength(4);
  one.stop();
  expect(vi.getTimerCount()).toBe(0);
});
