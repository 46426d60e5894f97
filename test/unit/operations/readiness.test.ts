import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { checkReadiness } from '../../../control-plane/operations/cluster/readiness.ts';
import type { Context } from '../../../control-plane/operations/context.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = () => new Promise<never>(() => {});
const soon = async () => undefined;

/** Checks readiness with these two dependencies. */
const check = (query: () => Promise<unknown>, ready: () => Promise<unknown>) =>
  checkReadiness({ db: { query }, coordinator: { ready } } as unknown as Context);

const [OF_DATABASE, OF_COORDINATOR] = [
  'the database does not answer',
  'the coordinator has not loaded its state',
];
test.each([
  ['the database', never, soon, OF_DATABASE],
  ['the coordinator', soon, never, OF_COORDINATOR],
  ['either of the two', never, never, `${OF_DATABASE}; ${OF_COORDINATOR}`],
])(
  'H117: readiness fails after 4 s, and not earlier, without an answer from %s',
  async (_, query, ready, reason) => {
    let failure: unknown;
    const answered = check(query, ready).catch((error) => {
      failure = error;
    });
    await vi.advanceTimersByTimeAsync(3_999);
    expect(failure).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await answered;
    expect(failure).toMatchObject({ code: 'unavailable', message: `Not ready: ${reason}.` });
  },
);

test('H117: a readiness check leaves no timer behind', async () => {
  await check(soon, soon);
  await expect(check(() => Promise.reject(new Error('no')), soon)).rejects.toThrow('does not answer');
  expect(vi.getTimerCount()).toBe(0);
});
