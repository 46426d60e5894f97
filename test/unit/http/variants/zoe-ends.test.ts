import { expect, test } from 'vitest';
import type { ExecutionView, ServiceView } from '../../../../control-plane/core/views/execution-views.ts';
import {
  executionSeenAt,
  runningSinceMs,
  serviceSeenAt,
  snapshotSeenWith,
} from '../../../../control-plane/http/variants/zoe-ends.ts';

const START_MS = 1_000_000;
const ended = {
  ...{ status: 'error', errorMessage: 'web0 ended', timeStartMs: START_MS, timeEndMs: START_MS + 400 },
} as ExecutionView;

test('H168: an execution that has ended is seen running without an end until 3 s after its start', () => {
  for (const afterMs of [0, 400, 2_999])
    expect(executionSeenAt(ended, START_MS + afterMs)).toEqual({
      ...{ ...ended, status: 'running', errorMessage: null, timeEndMs: null },
    });
  expect(executionSeenAt(ended, START_MS + 3_000)).toBe(ended);
  const neverStarted = { ...ended, timeStartMs: null };
  expect(executionSeenAt(neverStarted, START_MS)).toBe(neverStarted);
});

test('H168: a filter for what has started since then finds the same executions', () => {
  expect(START_MS > runningSinceMs(START_MS + 2_999)).toBe(true);
  expect(START_MS > runningSinceMs(START_MS + 3_000)).toBe(false);
});

test('H168: services that have started are seen active as long, unless their execution really runs', () => {
  const service = {
    ...{ status: 'inactive', backendStatus: 'destroyed', errorMessage: 'ended', starts: 1 },
    execution: ended,
  } as Partial<ServiceView> as ServiceView;
  const active = { status: 'active', backendStatus: 'started', errorMessage: null };
  expect(serviceSeenAt(service, START_MS + 2_999)).toMatchObject(active);
  for (const one of [
    { ...service, starts: 0 },
    { ...service, execution: { ...ended, status: 'running' as const } },
  ])
    expect(serviceSeenAt(one, START_MS + 2_999)).toBe(one);
  expect(serviceSeenAt(service, START_MS + 3_000)).toBe(service);
});

test('H168: statistics count these executions as running, in the order of their ids', () => {
  const snapshot = { queued: [9], running: [2, 7], cleaningUp: [5, 6], hosts: [] };
  expect(snapshotSeenWith(snapshot, [6, 3, 7])).toEqual({
    ...{ queued: [9], running: [2, 3, 6, 7], cleaningUp: [5], hosts: [] },
  });
});
