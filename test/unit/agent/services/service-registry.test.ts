import { expect, test } from 'vitest';
import type { Container } from '../../../../agent/engine/engine.ts';
import type { OutputState } from '../../../../agent/logs/output-store.ts';
import type { StartState } from '../../../../agent/services/plan.ts';
import { ServiceRegistry, TrackedService } from '../../../../agent/services/service-registry.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';

const key = { service: 1, generation: 1 };
const exit = { exitCode: 0, outOfMemory: false, finishedAtMs: 2 };
const ended: Container = { ...key, id: 'c1', state: 'exited', ...exit };
const running: Container = { ...key, id: 'c1', state: 'running', ipAddress: '', ports: [], startedAtMs: 1 };

function assigned(kind: Exclude<StartState['kind'], 'failed'>): TrackedService {
  const tracked = new TrackedService(1);
  tracked.assign(assignment(), { kind });
  return tracked;
}
const mayWrite = (tracked: TrackedService, of = key, state: OutputState = 'unknown') =>
  tracked.mayWrite(of, () => state);

test('P10: a log ends once the store has all output of the ended container, and not while its image is pulled', () => {
  const tracked = assigned('started');
  tracked.update(ended);
  const states: readonly OutputState[] = ['unknown', 'preserved', 'complete'];
  expect(states.map((state) => mayWrite(tracked, key, state))).toEqual([true, true, false]);
  const missing = assigned('image-missing');
  expect([mayWrite(missing), mayWrite(missing, { ...key, generation: 2 })]).toEqual([true, false]);
});

test('P5: a container found before its assignment does not depart once it is assigned', () => {
  const tracked = new TrackedService(1);
  tracked.update({ ...key, id: 'c1', cpu: undefined, state: 'created' });
  tracked.assign(assignment(), { kind: 'fresh' });
  tracked.containers.delete('c1');
  expect(tracked.departed()).toEqual([]);
});

test('P12: a key that is replaced before it has a container departs, and a late stop of it stops only it', () => {
  const tracked = assigned('fresh');
  tracked.assign(assignment({ generation: 2 }), { kind: 'fresh' });
  expect(tracked.departed()).toEqual([1]);
  tracked.unassign(key);
  expect(tracked.assignment?.generation).toBe(2);
});

test('P10, P145: a start that was made a failure stays one when its container ends, and its output is not awaited', () => {
  const tracked = assigned('fresh');
  tracked.update(running);
  expect(mayWrite(tracked)).toBe(true);
  expect(tracked.fail(key, 'the disk is full')).toBe(true);
  expect(mayWrite(tracked)).toBe(false);
  tracked.update(ended);
  expect(tracked.start).toMatchObject({ kind: 'failed', message: 'the disk is full' });
});

test('P33: a start that is pending is given up, too, and a container that has ended is not', () => {
  for (const kind of ['fresh', 'image-missing'] as const) {
    const tracked = assigned(kind);
    expect(tracked.lapse()).toEqual([key]);
    expect(tracked.assignment).toBeUndefined();
  }
  const tracked = assigned('started');
  tracked.update(ended);
  expect(tracked.lapse()).toEqual([]);
  expect(tracked.assignment).toBeDefined();
});

test('P30: services of an unknown range are left alone, from its first to its last', () => {
  const registry = new ServiceRegistry();
  for (const service of [1, 2, 3, 4])
    registry.getOrCreate(service).update({ ...running, service, id: `c${service}` });
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
