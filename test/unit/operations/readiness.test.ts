import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { checkReadiness } from '../../../control-plane/operations/cluster/readiness.ts';
import type { Context } from '../../../control-plane/operations/context.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const never = () => new Promise<never>(() => {});
const soon = async () => undefined;

/** Checks readiness with these two dependencies. */
const check = (query: () => Promise<unknown>, ready: () => Promise<unknown>) =>
  checkReadiness({ db: { query }, coordinator: { ready } } as unknown as Context);

test.each([
  ['the database', never, soon, 'Not ready: the database does not answer.'],
  ['the coordinator', soon, never, 'Not ready: the coordinator has not loaded its state.'],
  [
    'either of the two',
    never,
    never,
    'Not ready: the database does not answer; the coordinator has not loaded its state.',
  ],
])(
  'H117: readiness fails after 4 s, and not earlier, without an answer from %s',
  async (_, query, ready, message) => {
    let failure: unknown;
    const answered = check(query, ready).catch((error) => {
      failure = error;
    });
    await vi.advanceTimersByTimeAsync(3_999);
    expect(failure).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await answered;
    expect(failure).toMatchObject({ code: 'unavailable', message });
  },
);

test('H117: a readiness check leaves no timer behind', async () => {
  await check(soon, soon);
  await expect(check(() => Promise.reject(new Error('no')), soon)).rejects.toThrow('does not answer');
  expect(vi.getTimerCount()).toBe(0);
});
