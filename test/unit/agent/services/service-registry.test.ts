import { expect, test } from 'vitest';
import type { OutputState } from '../../../../agent/logs/output-store.ts';
import { ServiceRegistry, TrackedService } from '../../../../agent/services/service-registry.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';

const key = { service: 1, generation: 1 };
const ended = { state: 'exited', exitCode: 0, outOfMemory: false, finishedAtMs: 2 } as const;
const running = { state: 'running' as const, ipAddress: '10.0.0.1', ports: [], startedAtMs: 1 };

test('P10: the log of an ended container ends only after the store has all its output', () => {
  const tracked = new TrackedService(1);
  tracked.assign(assignment(), { kind: 'started' });
  tracked.update({ ...key, id: 'c1', ...ended });
  const states: readonly OutputState[] = ['unknown', 'preserved', 'complete'];
  expect(states.map((state) => tracked.mayWrite(key, () => state))).toEqual([true, true, false]);
});

test('P10: the log of a service whose image is being pulled does not end', () => {
  const tracked = new TrackedService(1);
  tracked.assign(assignment(), { kind: 'image-missing' });
  expect(tracked.mayWrite(key, () => 'unknown')).toBe(true);
  expect(tracked.mayWrite({ ...key, generation: 2 }, () => 'unknown')).toBe(false);
});

test('P5: a container found before its assignment does not depart once it is assigned', () => {
  const tracked = new TrackedService(1);
  tracked.update({ ...key, id: 'c1', cpu: undefined, state: 'created' });
  tracked.assign(assignment(), { kind: 'fresh' });
  tracked.containers.delete('c1');
  expect(tracked.departed()).toEqual([]);
});

test('P12: a key that is replaced before it has a container departs, and a late stop of it stops only it', () => {
  const tracked = new TrackedService(1);
  tracked.assign(assignment(), { kind: 'fresh' });
  tracked.assign(assignment({ generation: 2 }), { kind: 'fresh' });
  expect(tracked.departed()).toEqual([1]);
  tracked.unassign(key);
  expect(tracked.assignment?.generation).toBe(2);
});

test('P145: a start that was made a failure stays one when its container ends', () => {
  const tracked = new TrackedService(1);
  tracked.assign(assignment(), { kind: 'started' });
  tracked.update({ ...key, id: 'c1', ...running });
  expect(tracked.fail(key, 'the disk is full')).toBe(true);
  tracked.update({ ...key, id: 'c1', ...ended });
  expect(tracked.start).toMatchObject({ kind: 'failed', message: 'the disk is full' });
});

test('P33: a start that is pending is given up, too', () => {
  for (const kind of ['fresh', 'image-missing'] as const) {
    const tracked = new TrackedService(1);
    tracked.assign(assignment(), { kind });
    expect(tracked.lapse()).toEqual([key]);
    expect(tracked.assignment).toBeUndefined();
  }
});

test('P33: a container that has ended is not given up', () => {
  const tracked = new TrackedService(1);
  tracked.assign(assignment(), { kind: 'started' });
  tracked.update({ ...key, id: 'c1', ...ended });
  expect(tracked.lapse()).toEqual([]);
  expect(tracked.assignment).toBeDefined();
});

test('P30: services of an unknown range are left alone, from its first to its last', () => {
  const registry = new ServiceRegistry();
  for (const service of [1, 2, 3, 4])
    registry.getOrCreate(service).update({ service, generation: 1, id: `c${service}`, ...running });
  registry.getOrCreate(5).assign(assignment({ service: 5 }), { kind: 'fresh' });
  registry.unknown = [
    { first: 2, last: 3 },
    { first: 5, last: 5 },
  ];
  expect(registry.leftAlone()).toEqual([2, 3]);
  expect(registry.running().map(({ id }) => id)).toEqual(['c1', 'c4']);
  expect(registry.containers().map(({ id }) => id)).toEqual(['c1', 'c2', 'c3', 'c4']);
  expect(registry.withContainer('c3')?.service).toBe(3);
  expect(registry.images()).toEqual([assignment().image]);
  expect(registry.lapse()).toEqual([1, 4].map((service) => ({ service, generation: 1 })));
  expect(registry.all().map(({ lapsed }) => lapsed)).toEqual([true, false, false, true, false]);
});

test('P10: output of a failed start that still has a container is not awaited', () => {
  const tracked = new TrackedService(1);
  tracked.assign(assignment(), { kind: 'fresh' });
  tracked.update({ ...key, id: 'c1', ...running });
  expect(tracked.mayWrite(key, () => 'unknown')).toBe(true);
  tracked.fail(key, 'the disk is full');
  expect(tracked.mayWrite(key, () => 'unknown')).toBe(false);
});
