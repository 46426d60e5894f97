import { expect, test } from 'vitest';
import { observeConditions, observeUsage } from '../../../../control-plane/core/lifecycle/observations.ts';
import { application, service } from '../../../support/fixtures/applications.ts';
import { CoreRig, exited, hostFacts, lowDisk, named, running, told } from '../../../support/rigs/core-rig.ts';

const pair = application(service(), service({ name: 'side', monitor: false }));

test('C83: a host that is low on disk takes nothing new until it is no longer', () => {
  const rig = new CoreRig();
  const host = rig.hello(hostFacts('one'));
  observeConditions(host, [lowDisk]);
  const execution = rig.submit();
  expect(told(rig.turn())).toEqual([]);
  expect(execution.status).toBe('queued');
  observeConditions(host, []);
  expect(told(rig.turn())).toEqual(['place web0@one', 'start web0.1']);
});

test.each(['no-engine', 'no-network'])(
  'C114: a host with the condition %s takes nothing new, and others do',
  (kind) => {
    const rig = new CoreRig();
    observeConditions(rig.hello(hostFacts('one')), [{ kind, text: 'why' }]);
    const execution = rig.submit();
    expect(told(rig.turn())).toEqual([]);
    expect(execution.status).toBe('queued');
    rig.hello(hostFacts('two', { memoryBytes: 2 ** 30 }));
    expect(told(rig.turn())).toEqual(['place web0@two', 'start web0.1']);
  },
);

test('C83: others take what it does not', () => {
  const rig = new CoreRig();
  observeConditions(rig.hello(hostFacts('one')), [lowDisk]);
  rig.hello(hostFacts('two', { memoryBytes: 2 ** 30 }));
  rig.submit();
  expect(told(rig.turn())).toEqual(['place web0@two', 'start web0.1']);
});

test('C83: what runs there stays, and is started again there', () => {
  const rig = new CoreRig();
  const host = rig.hello(hostFacts('one'));
  const execution = rig.submit(pair);
  rig.turn();
  for (const one of execution.services) rig.see(one, running);
  observeConditions(host, [lowDisk]);
  expect(told(rig.turn())).toEqual([]);
  const side = named(execution, 'side0');
  rig.see(side, exited(1));
  rig.see(side, { state: 'gone' });
  expect(told(rig.advance(1_000))).toEqual(['start side0.2']);
});

test('C83: other conditions only tell', () => {
  const rig = new CoreRig();
  observeConditions(rig.hello(hostFacts('one')), [{ kind: 'clock-skew', text: 'its clock is 9 s ahead' }]);
  rig.submit();
  expect(told(rig.turn())).toEqual(['place web0@one', 'start web0.1']);
});

test('P40: conditions are news when their kinds change, not when their words do', () => {
  const host = new CoreRig().hello(hostFacts('one'));
  expect(observeConditions(host, [])).toBe(false);
  expect(observeConditions(host, [lowDisk])).toBe(true);
  expect(observeConditions(host, [{ ...lowDisk, text: 'less' }])).toBe(false);
  expect(host.conditions).toEqual([{ ...lowDisk, text: 'less' }]);
  expect(observeConditions(host, [])).toBe(true);
});

test('C86: what containers use is not known while the engine does not answer', () => {
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
