import { expect, test } from 'vitest';
import {
  DAY_MS,
  dueEndMs,
  hasTooManyPending,
  isRemovable,
  keepMsOf,
  nextReviewMs,
  pauseMs,
  retryPeriodMs,
  reviewPeriodMs,
} from '../../../../control-plane/core/lifecycle/retention.ts';
import type { Execution } from '../../../../control-plane/core/model/execution.ts';
import type { Service } from '../../../../control-plane/core/model/service.ts';
import type { Cluster } from '../../../../control-plane/core/state/cluster.ts';

const HOUR_MS = 3_600_000;
const END_MS = 1_000;

const clusterWith = (connected: boolean) => ({ hosts: new Map([[1, { connected }]]) }) as unknown as Cluster;
const execution = (changes: Partial<Execution> = {}, service: Partial<Service> = {}) =>
  ({
    status: 'terminated',
    deleted: false,
    timeEndMs: END_MS,
    services: [{ generation: 1, logs: 'kept', hostId: 1, ...service }],
    ...changes,
  }) as Execution;

const cluster = clusterWith(true);

test('C240, C242: an execution may be removed once its end is due, unless it has not ended, is being deleted, or has a log on a host that is not connected', () => {
  for (const status of ['terminated', 'error'] as const)
    expect(isRemovable(cluster, execution({ status }), END_MS)).toBe(true);
  expect(isRemovable(cluster, execution(), END_MS - 1)).toBe(false);
  for (const status of ['submitted', 'queued', 'starting', 'running', 'cleaning up'] as const)
    for (const timeEndMs of [END_MS, null])
      expect(isRemovable(cluster, execution({ status, timeEndMs }), END_MS)).toBe(false);
  expect(isRemovable(cluster, execution({ deleted: true }), END_MS)).toBe(false);
  expect(isRemovable(clusterWith(false), execution(), END_MS)).toBe(false);
});

test.each<[string, Partial<Service>]>([
  ['on a removed host', { hostId: 2 }],
  ['that its host has removed', { logs: 'forgotten' }],
  ['of a service that never started', { generation: 0 }],
])('C242: an execution with a log %s does not wait for the host', (_, service) => {
  expect(isRemovable(clusterWith(false), execution({}, service), END_MS)).toBe(true);
});

test('C240: days may be fractions, and 0 means for ever', () => {
  expect(dueEndMs(keepMsOf(0.5), DAY_MS)).toBe(DAY_MS / 2);
  expect(dueEndMs(keepMsOf(0), DAY_MS)).toBeNull();
});

test('C242: 1,000 deletions that wait for their hosts are too many', () => {
  const waiting = (count: number) => {
    const all = [...Array(count).fill('error'), ...Array(count).fill('queued')];
    const executions = new Map(all.map((status, id) => [id, execution({ status })]));
    return { executions } as unknown as Cluster;
  };
  expect(hasTooManyPending(waiting(999))).toBe(false);
  expect(hasTooManyPending(waiting(1_000))).toBe(true);
});

test('C241, C242: reviews follow each other after an hour, or after a hundredth of the time, and one that could not finish is tried again within a minute', () => {
  expect(reviewPeriodMs(null)).toBe(HOUR_MS);
  expect(reviewPeriodMs(90 * DAY_MS)).toBe(HOUR_MS);
  expect(reviewPeriodMs(10 * HOUR_MS)).toBe(HOUR_MS / 10);
  expect(reviewPeriodMs(1)).toBe(1_000);
  expect(retryPeriodMs(null)).toBe(60_000);
  expect(retryPeriodMs(1)).toBe(1_000);
});

test('C241: the next review counts from the last one that was complete, unless a fast clock has recorded that in the future', () => {
  expect(nextReviewMs(5, null, 10)).toBe(5 + HOUR_MS);
  expect(nextReviewMs(11, null, 10)).toBe(10);
});

test.each([0, 3, 10, 100, 1_000])(
  'C241: a step that costs %d ms takes less than 5 %% of the time',
  (cost) => {
    expect(cost / (cost + pauseMs(cost))).toBeLessThan(0.05);
    expect(pauseMs(cost)).toBeGreaterThan(0);
  },
);
