import { expect, test, vi } from 'vitest';
import { PasswordChecks } from '../../../control-plane/guard/password-checks.ts';

let nowMs = 0;
const limitOf = (maxRunning: number) => new PasswordChecks(() => nowMs, { maxRunning, maxWaiting: 512 });
const ALICE = { name: 'alice', network: '192.0.2.0/24', familiar: false };
/** Calculations that run until the test ends them. */
const jobs = (limit: PasswordChecks, count: number) => {
  const started: number[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const results = Array.from({ length: count }, (_, n) =>
    limit.run(ALICE, () => {
      started.push(n);
      return new Promise<number>((done, fail) => {
        ends[n] = (error) => (error ? fail(error) : done(n));
      });
    }),
  );
  return { started, ends, results };
};
const settled = () => new Promise((done) => setImmediate(done));

test('H133: calculations beyond the limit wait and then run in the order of arrival, even after one has failed', async () => {
  const { started, ends, results } = jobs(limitOf(2), 5);
  await settled();
  expect(started).toEqual([0, 1]);
  ends[1]?.(new Error('broken'));
  await expect(results[1]).rejects.toThrow('broken');
  await settled();
  expect(started).toEqual([0, 1, 2]);
  ends[0]?.();
  ends[2]?.();
  await settled();
  expect(started).toEqual([0, 1, 2, 3, 4]);
  ends[3]?.();
  ends[4]?.();
  expect(await Promise.all([results[0], results[2], results[3], results[4]])).toEqual([0, 2, 3, 4]);
});

test('H133: a login that has waited too long is refused, and its place is free again', async () => {
  const limit = limitOf(1);
  const { started, ends, results } = jobs(limit, 2);
  await settled();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const late = limit.run(ALICE, async () => 7);
  vi.advanceTimersByTime(15_000);
  vi.useRealTimers();
  await expect(late).rejects.toMatchObject({ code: 'unavailable' });
  ends[0]?.();
  await settled();
  expect(started).toEqual([0, 1]);
  ends[1]?.();
  expect(await Promise.all(results)).toEqual([0, 1]);
  expect(await limit.run(ALICE, async () => 8)).toBe(8);
});

test('H133: the place of a calculation that never ends is free again after a minute', async () => {
  const limit = limitOf(1);
  const lost = jobs(limit, 1);
  await settled();
  nowMs += 60_000;
  expect(await limit.run(ALICE, async () => 7)).toBe(7);
  lost.ends[0]?.();
  expect(await lost.results[0]).toBe(0);
  const { started, ends, results } = jobs(limit, 2);
  await settled();
  expect(started).toEqual([0]);
  ends[0]?.();
  await settled();
  ends[1]?.();
  expect(await Promise.all(results)).toEqual([0, 1]);
});

test('H133: a login beyond the longest line is refused, and the logins in the line are not', async () => {
  const limit = limitOf(1);
  const { ends, results } = jobs(limit, 1 + 512);
  await settled();
  await expect(limit.run(ALICE, async () => 0)).rejects.toMatchObject({ code: 'unavailable' });
  for (let n = 0; n < results.length; n++) {
    await settled();
    ends[n]?.();
  }
  expect((await Promise.all(results)).at(-1)).toBe(512);
  expect(await limit.run(ALICE, async () => 7)).toBe(7);
});

test('H341: a login that loses its place to another network is refused with the limit of the queue', async () => {
  const limit = new PasswordChecks(() => nowMs, { maxRunning: 1, maxWaiting: 2 });
  const { ends, results } = jobs(limit, 3);
  const bob = limit.run({ name: 'bob', network: '198.51.100.0/24', familiar: false }, async () => 7);
  await expect(results[2]).rejects.toThrow('at most 2 may wait for their password check');
  ends[0]?.();
  await settled();
  ends[1]?.();
  expect(await bob).toBe(7);
  await Promise.all([results[0], results[1]]);
});
