import { expect, test } from 'vitest';
import {
  observe,
  observeConditions,
  observeUsage,
} from '../../../../control-plane/core/lifecycle/observations.ts';
import { explain } from '../../../../control-plane/core/views/explanation.ts';
import type { Observation } from '../../../../shared/protocol/up.ts';
import {
  CoreRig,
  exited,
  gone,
  hostFacts,
  lowDisk,
  named,
  running,
  runningRig,
} from '../../../support/rigs/core-rig.ts';

test('H821: a service whose container is paused states it until it runs again or ends', () => {
  const { rig, execution, web } = runningRig();
  const paused = { ...running, paused: true } as const;
  const isStated = () => /^the container of service web0 is paused, /.test(web.errorMessage ?? '');
  const waitingFor = () => explain(rig.cluster, execution, rig.nowMs).waitingFor;
  rig.see(web, paused);
  expect([isStated(), web.status]).toEqual([true, 'active']);
  expect(waitingFor()).toEqual(['web0: paused from outside Berth.']);
  expect(rig.cluster.changes.services.has(web)).toBe(true);
  rig.see(web, running);
  expect([web.errorMessage, waitingFor()]).toEqual([null, []]);
  rig.see(web, paused, exited(0));
  expect(web.errorMessage).toBeNull();
  const other = runningRig();
  const side = other.side;
  other.rig.see(side, paused);
  other.rig.see(side, gone);
  expect(side.errorMessage).toBe('the container of service side0 was removed from outside Berth');
});

test.each(['low-disk', 'no-engine', 'no-network'])(
  'C83, C114: a host with the condition %s takes no new services until it ends, and other hosts do',
  (kind) => {
    const rig = new CoreRig();
    const one = rig.hello(hostFacts('one'));
    observeConditions(one, [{ kind, text: 'why' }]);
    const execution = rig.submit();
    expect(rig.turn()).toEqual([]);
    expect(execution.status).toBe('queued');
    expect(rig.join(hostFacts('two', { memoryBytes: 2 ** 30 }))).toEqual(['place web0@two', 'start web0.1']);
    observeConditions(one, []);
    rig.submit();
    expect(rig.turn()).toEqual(['place web0@one', 'start web0.1']);
  },
);

test('C83, P5: services on a host that is low on disk stay and are restarted there, and an earlier start of one in a hello does not hide that this one is gone', () => {
  const { rig, execution, side } = runningRig();
  observeConditions(rig.hostOf(side), [lowDisk]);
  expect(rig.turn()).toEqual([]);
  rig.see(side, exited(1), { state: 'gone' });
  expect(rig.advance(1_000)).toEqual(['start side0.2']);
  rig.see(side, running);
  expect(side.generation).toBe(2);
  const web = { ...running, service: named(execution, 'web0').id, generation: 1 } as Observation;
  rig.hello(hostFacts('one'), [web, { ...running, service: side.id, generation: 1 } as Observation]);
  expect(side).toMatchObject({ status: 'inactive', exit: { code: null } });
});

test('C83: other conditions are only reported', () => {
  const rig = new CoreRig();
  observeConditions(rig.hello(hostFacts('one')), [{ kind: 'clock-skew', text: 'its clock is 9 s ahead' }]);
  rig.submit();
  expect(rig.turn()).toEqual(['place web0@one', 'start web0.1']);
});

test('P40: conditions have changed if their kinds change, and not if only their texts do', () => {
  const host = new CoreRig().hello(hostFacts('one'));
  expect(observeConditions(host, [])).toBe(false);
  expect(observeConditions(host, [lowDisk])).toBe(true);
  expect(observeConditions(host, [{ ...lowDisk, text: 'less' }])).toBe(false);
  expect(host.conditions).toEqual([{ ...lowDisk, text: 'less' }]);
  expect(observeConditions(host, [])).toBe(true);
});

test('C86: the usage of containers is unknown while the engine does not answer', () => {
  const host = new CoreRig().hello(hostFacts('one'));
  const usage = { memoryBytes: 2 ** 20, cores: 0.5 };
  observeUsage(host, usage);
  observeUsage(host, undefined);
  expect(host.usage).toEqual(usage);
  observeConditions(host, [{ kind: 'no-engine', text: 'why' }]);
  for (const late of [undefined, usage]) {
    observeUsage(host, late);
    expect(host.usage).toBeNull();
  }
  observeConditions(host, []);
  observeUsage(host, usage);
  expect(host.usage).toEqual(usage);
});

test('C10, P33: a service that had ended before its host gave it up has ended, and is not placed again', () => {
  const { rig, execution, web } = runningRig();
  const host = rig.hostOf(web);
  const seen = { service: web.id, generation: web.generation };
  observe(rig.cluster, host, { ...exited(3), ...seen } as Observation, rig.nowMs);
  observe(rig.cluster, host, { ...seen, state: 'gone', lapsed: true }, rig.nowMs);
  rig.turn();
  expect(execution.ending?.status).toBe('error');
  expect(web).toMatchObject({ exit: { code: 3 }, generation: 1 });
});
