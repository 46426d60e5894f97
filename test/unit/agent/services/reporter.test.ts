import { beforeEach, expect, test } from 'vitest';
import { Reporter } from '../../../../agent/services/reporter.ts';
import type { Observation } from '../../../../shared/protocol/up.ts';

const key = { service: 1, generation: 1 };
const preparing: Observation = { ...key, state: 'preparing', detail: 'x' };
const gone: Observation = { ...key, state: 'gone' };
let reporter: Reporter;

beforeEach(() => {
  reporter = new Reporter();
});

const changed = () => reporter.changes()?.observations;
const pending = () => reporter.everything().observations;
const sent = () => reporter.changes()?.sequence ?? 0;

test('P7: a later observation replaces an earlier one, and each periodic report has it until it is acknowledged', () => {
  const urgencies: boolean[] = [];
  reporter.onChange((urgent) => urgencies.push(urgent));
  reporter.observe(preparing);
  reporter.observe(gone);
  // A change that may soon be replaced is not urgent.
  expect(urgencies).toEqual([false, true]);
  expect(changed()).toEqual([gone]);
  reporter.observe({ ...gone });
  expect(changed()).toBeUndefined();
  const { sequence, observations } = reporter.everything();
  expect(observations).toEqual([gone]);
  expect(reporter.everything().sequence).toBeGreaterThan(sequence);
});

test('P7: an ack covers what was sent up to its report, and neither a later change nor what was sent again later', () => {
  reporter.observe(preparing);
  reporter.acknowledge(sent());
  expect(pending()).toEqual([]);
  reporter.observe({ ...preparing });
  expect(changed()).toBeUndefined();
  reporter.observe({ ...preparing, detail: 'y' });
  expect(changed()).toEqual([{ ...preparing, detail: 'y' }]);
  reporter.observe(preparing);
  const first = sent();
  reporter.observe(gone);
  reporter.acknowledge(first);
  expect(pending()).toEqual([gone]);
  reporter.observe(preparing);
  const second = sent();
  reporter.everything();
  reporter.acknowledge(second);
  expect(pending()).toEqual([preparing]);
});

test('P7: an acknowledged gone is returned once, and nothing is kept of it', () => {
  reporter.observe(gone);
  const { sequence } = reporter.everything();
  expect(reporter.isGone(key)).toBe(true);
  expect(reporter.acknowledge(sequence)).toEqual([gone]);
  expect(reporter.isGone(key)).toBe(false);
  expect(reporter.acknowledge(sequence)).toEqual([]);
});

test('P7, P14: forgotten logs are listed until they are acknowledged, and a new connection gets all that was not', () => {
  reporter.forgot([4, 5]);
  const first = reporter.everything();
  expect(first.forgotten).toEqual([4, 5]);
  reporter.acknowledge(first.sequence);
  expect(reporter.everything().forgotten).toEqual([]);
  reporter.forgot([4]);
  reporter.observe(preparing);
  const { sequence } = reporter.everything();
  reporter.reconnected();
  reporter.acknowledge(sequence);
  expect(reporter.changes()).toMatchObject({ forgotten: [4], observations: [preparing] });
});

test('P40: reports carry all conditions after a change, and with every sign of life', () => {
  const low = { kind: 'low-disk', text: '0.4 GiB free at /data' };
  expect(reporter.changes()).toBeUndefined();
  expect(reporter.everything().conditions).toEqual([]);
  reporter.setConditions([low]);
  expect(reporter.changes()?.conditions).toEqual([low]);
  reporter.observe(gone);
  expect(reporter.changes()).not.toHaveProperty('conditions');
  expect(reporter.everything().conditions).toEqual([low]);
  reporter.setConditions([]);
  expect(reporter.changes()?.conditions).toEqual([]);
});

test('P50: only a sign of life carries the usage', () => {
  const usage = { memoryBytes: 1, cores: 2 };
  expect(reporter.everything()).not.toHaveProperty('usage');
  reporter.setUsage(usage);
  reporter.observe(gone);
  expect(reporter.changes()).not.toHaveProperty('usage');
  expect(reporter.everything().usage).toEqual(usage);
  reporter.setUsage(undefined);
  expect(reporter.everything()).not.toHaveProperty('usage');
});

test('P98: the swarm travels once with each change of it', () => {
  const changes: boolean[] = [];
  reporter.onChange((urgent) => changes.push(urgent));
  const swarm = { id: 'x' } as never;
  for (const one of [null, swarm, swarm]) reporter.setSwarm(one);
  expect(changes).toEqual([false]);
  expect(reporter.changes()).toMatchObject({ swarm, conditions: [] });
  expect(reporter.changes()).toBeUndefined();
  reporter.setSwarm(null);
  reporter.reconnected();
  expect(reporter.changes()).toBeUndefined();
  expect(reporter.everything().swarm).toBeNull();
});
