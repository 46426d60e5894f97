import { beforeEach, describe, expect, test } from 'vitest';
import { Reporter } from '../../../../agent/services/reporter.ts';
import type { Observation } from '../../../../shared/protocol/up.ts';

const key = { service: 1, generation: 1 };
const preparing: Observation = { ...key, state: 'preparing', detail: 'x' };
const gone: Observation = { ...key, state: 'gone' };
let reporter: Reporter;

beforeEach(() => {
  reporter = new Reporter();
});

describe('observations', () => {
  test('P7: a later observation replaces an earlier one', () => {
    reporter.observe(preparing);
    reporter.observe(gone);
    expect(reporter.changes()?.observations).toEqual([gone]);
  });
  test('an equal observation is not a change', () => {
    reporter.observe(gone);
    reporter.changes();
    reporter.observe({ ...gone });
    expect(reporter.changes()).toBeUndefined();
  });
  test('P7: an unacknowledged observation is in every periodic report', () => {
    reporter.observe(gone);
    reporter.changes();
    expect(reporter.everything().observations).toEqual([gone]);
  });
  test('P7: an ack covers what was sent up to its report', () => {
    reporter.observe(preparing);
    const sequence = reporter.changes()?.sequence ?? 0;
    reporter.acknowledge(sequence);
    expect(reporter.everything().observations).toEqual([]);
  });
  test('P7: an ack does not cover a change after its report', () => {
    reporter.observe(preparing);
    const sequence = reporter.changes()?.sequence ?? 0;
    reporter.observe(gone);
    reporter.acknowledge(sequence);
    expect(reporter.everything().observations).toEqual([gone]);
  });
  test('P7: an ack of an earlier report does not cover what was sent again later', () => {
    reporter.observe(preparing);
    const sequence = reporter.changes()?.sequence ?? 0;
    reporter.everything();
    reporter.acknowledge(sequence);
    expect(reporter.everything().observations).toEqual([preparing]);
  });
  test('an acknowledged observation is not reported again when it is repeated', () => {
    reporter.observe(preparing);
    reporter.acknowledge(reporter.changes()?.sequence ?? 0);
    reporter.observe({ ...preparing });
    expect(reporter.changes()).toBeUndefined();
  });
  test('P7: another text of the same state is a change', () => {
    reporter.observe(preparing);
    reporter.acknowledge(reporter.changes()?.sequence ?? 0);
    reporter.observe({ ...preparing, detail: 'y' });
    expect(reporter.changes()?.observations).toEqual([{ ...preparing, detail: 'y' }]);
  });
  test('P7: an acknowledged gone is returned once, and nothing is kept of it', () => {
    reporter.observe(gone);
    const { sequence } = reporter.everything();
    expect(reporter.isGone(key)).toBe(true);
    expect(reporter.acknowledge(sequence)).toEqual([gone]);
    expect(reporter.isGone(key)).toBe(false);
    expect(reporter.acknowledge(sequence)).toEqual([]);
  });
  test('P7: a new connection gets every unacknowledged observation', () => {
    reporter.observe(preparing);
    reporter.changes();
    reporter.reconnected();
    expect(reporter.changes()?.observations).toEqual([preparing]);
  });
});

describe('reports', () => {
  test('the sequence numbers only grow', () => {
    const { sequence } = reporter.everything();
    expect(reporter.everything().sequence).toBeGreaterThan(sequence);
  });
  test('P14: forgotten logs are listed until they are acknowledged', () => {
    reporter.forgot([4, 5]);
    const { sequence, forgotten } = reporter.everything();
    expect(forgotten).toEqual([4, 5]);
    reporter.acknowledge(sequence);
    expect(reporter.everything().forgotten).toEqual([]);
  });
  test('P14: a new connection gets the forgotten logs that were not acknowledged', () => {
    reporter.forgot([4]);
    const { sequence } = reporter.everything();
    reporter.reconnected();
    reporter.acknowledge(sequence);
    expect(reporter.changes()?.forgotten).toEqual([4]);
  });
  test('only a change that may soon be replaced is not urgent', () => {
    const urgencies: boolean[] = [];
    reporter.onChange((urgent) => urgencies.push(urgent));
    reporter.observe(preparing);
    reporter.observe(gone);
    expect(urgencies).toEqual([false, true]);
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
});
