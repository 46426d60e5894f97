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

/** What was asked, with these two answers. */
const asked = (query: () => Promise<unknown>, ready: () => Promise<unknown>) =>
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
  'H117: where %s never answers, that is said after 4 s, and no earlier',
  async (_, query, ready, message) => {
    let told: unknown;
    const answered = asked(query, ready).catch((error) => {
      told = error;
    });
    await vi.advanceTimersByTimeAsync(3_999);
    expect(told).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await answered;
    expect(told).toMatchObject({ code: 'unavailable', message });
  },
);

test('H117: what answers leaves no timer behind', async () => {
  await asked(soon, soon);
  await expect(asked(() => Promise.reject(new Error('no')), soon)).rejects.toThrow('does not answer');
  expect(vi.getTimerCount()).toBe(0);
});
