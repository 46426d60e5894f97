import { expect, test } from 'vitest';
import { defaultBounds } from '../../../../control-plane/core/model/bounds.ts';
import type { Execution } from '../../../../control-plane/core/model/execution.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import { CoreRig, gone, hostFacts, named, running } from '../../../support/rigs/core-rig.ts';

const KIB = 1024;
const tiny = needs(null, 0.01);
/** A service whose definition has at least that many KiB of text, and less than one more. */
const withText = (kib: number, changes = {}) =>
  service({
    resources: tiny,
    environment: [['TEXT', 'x'.repeat(Math.max(0, kib - 1) * KIB + 400)]],
    ...changes,
  });
const elastic = { name: 'work', monitor: false, essential_count: 0 };

function rigWithin(placedInstances: number): CoreRig {
  const rig = new CoreRig({ bounds: { ...defaultBounds, placedInstances } });
  rig.join(hostFacts('one'));
  return rig;
}

const statusesOf = (executions: readonly Execution[]) => executions.map(({ status }) => status);

function end(rig: CoreRig, execution: Execution): void {
  rig.terminate(execution);
  for (const one of execution.services) if (one.hostId !== null) rig.see(one, gone);
}

test('C173: an instance counts once for each KiB of its texts, and at least once', () => {
  const rig = rigWithin(12);
  const two = { total_count: 2, essential_count: 2 };
  const started = [rig.submit(application(withText(1, two))), rig.submit(application(withText(5, two)))];
  rig.turn();
  expect(rig.cluster.placedWeight).toBe(12);
  const later = rig.submitInTurn(application(withText(1)));
  expect(statusesOf([...started, later])).toEqual(['starting', 'starting', 'queued']);
  for (const one of started) end(rig, one);
  expect(later.status).toBe('starting');
  expect(rig.cluster.placedWeight).toBe(1);
});

test('C173, C24: a reference to a variable counts as 64 bytes more', () => {
  const rig = rigWithin(100);
  rig.submitInTurn(application(withText(1, { command: `echo ${'{execution_name}'.repeat(64)}` })));
  expect(rig.cluster.placedWeight).toBe(6);
});

test('C173: an execution counts at least once for each KiB of its description, while it is placed', () => {
  const rig = rigWithin(50);
  const described = application(withText(1), withText(40, { ...elastic, labels: ['nowhere'] }));
  const first = rig.submit(described);
  const second = rig.submitInTurn(described);
  expect(statusesOf([first, second])).toEqual(['starting', 'queued']);
  end(rig, first);
  expect(second.status).toBe('starting');
  end(rig, second);
  expect(rig.cluster.placedWeight).toBe(0);
});

test('C173: what the bound stopped right after an equal start is tried again when instances of others have ended', () => {
  const rig = rigWithin(2);
  const other = rig.submit(application(withText(1)), 2);
  const equal = [rig.submit(application(withText(1))), rig.submit(application(withText(1)))];
  rig.turn();
  expect(statusesOf([other, ...equal])).toEqual(['starting', 'starting', 'queued']);
  end(rig, other);
  expect(statusesOf(equal)).toEqual(['starting', 'starting']);
});

test('C173: an elastic service that would exceed the bound waits until enough has ended, also right after an equal one', () => {
  const rig = rigWithin(3);
  const other = rig.submit(application(withText(1)), 2);
  const execution = rig.submitInTurn(application(withText(1), withText(1, { ...elastic, total_count: 2 })));
  for (const one of [...other.services, named(execution, 'web0')]) rig.see(one, running);
  expect(rig.cluster.placedWeight).toBe(3);
  expect(execution.services.map(({ placed }) => placed)).toEqual([true, true, false]);
  end(rig, other);
  expect(execution.services.map(({ placed }) => placed)).toEqual([true, true, true]);
});
