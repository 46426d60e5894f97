import { expect, test } from 'vitest';
import { skipIds } from '../../../../control-plane/core/lifecycle/restored-database.ts';
import { defaultBounds } from '../../../../control-plane/core/model/bounds.ts';
import type { Observation } from '../../../../shared/protocol/up.ts';
import { application, service } from '../../../support/fixtures/applications.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { CoordinatorRig, seen } from '../../../support/rigs/coordinator-rig.ts';
import { CoreRig, hostFacts, named, running, runningRig } from '../../../support/rigs/core-rig.ts';

const inventory = (id: number, generation: number, what: object = running): Observation[] => [
  { ...what, service: id, generation } as Observation,
];

test('C100: ids that a host has seen are not assigned again, neither to executions nor to services, even after a restart', async () => {
  const rig = await CoordinatorRig.open();
  await rig.submit();
  rig.agent().hello([], { highest: { execution: 40, service: 90 } });
  expect(await rig.submit()).toBe(41);
  rig.restart();
  const agent = await rig.agent().join();
  expect(await rig.submit()).toBe(42);
  const { execution, service } = await agent.started(3);
  expect(execution).toBe(42);
  expect(service).toBeGreaterThan(90);
});
test('C100, C101: ids that a host has seen are taken from the inventory if the agent does not report the highest ones', async () => {
  const rig = await CoordinatorRig.open();
  const agent = await rig.agent().join([seen({ service: 7, generation: 1 } as never, running)]);
  expect(agent.socket.all('sync').at(-1)?.unknown).toEqual([{ first: 1, last: 7 }]);
  await rig.submit();
  expect((await agent.started()).service).toBe(8);
});
test('C100: ids that a host has seen do not raise the next ids if they are known', () => {
  const { cluster } = new CoreRig();
  cluster.nextIds.service = 5;
  const none = { execution: 0, service: 0 };
  expect(skipIds(cluster, { highest: { execution: 0, service: 4 }, proven: none })).toBe(true);
  expect(cluster.nextIds).toMatchObject({ execution: 1, service: 5 });
  expect(cluster.changes.raisedIds).toBeNull();
});

test('C220: hosts bring in only as many instances as the bound allows, however often they say hello', async () => {
  const rig = await CoordinatorRig.open({ bounds: { ...defaultBounds, adoptedInstances: 6 } });
  for (let submitted = 0; submitted < 3; submitted++)
    await rig.submit(application(service({ total_count: 2, essential_count: 2 })));
  const one = (id: number) => seen(assignment({ service: id }), running);
  await rig.agent({ cores: 0 }).join([one(1), one(3), one(5)]);
  await rig.agent({ cores: 0 }).join([one(1), one(3), one(5)]);
  const adopted = await rig.memory.query('SELECT id FROM executions WHERE ending IS NOT NULL');
  expect(adopted.map(({ id }) => id)).toEqual([1, 2]);
  expect(await rig.memory.query('SELECT id FROM services')).toHaveLength(4);
});

test('C102: a container of a later start than the database has becomes the container of the service, and nothing is started', () => {
  const { rig, execution, web, side } = runningRig();
  expect(rig.join(hostFacts('one'), [...inventory(web.id, 1), ...inventory(side.id, 1e9)])).toEqual([]);
  expect(side).toMatchObject({ generation: 1e9, status: 'active', backendStatus: 'started', deathsMs: [] });
  expect(execution.status).toBe('running');
});
test('C102: a container of a later start is adopted even if the copy waits for a restart', () => {
  const { rig, web, side } = runningRig();
  rig.see(side, { state: 'gone' });
  expect(side.status).toBe('inactive');
  expect(rig.join(hostFacts('one'), [...inventory(web.id, 1), ...inventory(side.id, 2)])).toEqual([]);
  expect(rig.advance(60_000)).toEqual([]);
  expect(side).toMatchObject({ generation: 2, status: 'active', exit: null });
});
test('C102: a container of a later start delays the end of an execution that ends in the copy', () => {
  const { rig, execution, web, side } = runningRig();
  rig.terminate(execution);
  rig.join(hostFacts('one'), inventory(side.id, 3));
  expect(web.status).toBe('inactive');
  expect(execution.status).toBe('cleaning up');
  expect(rig.see(side, { state: 'gone' })).toEqual([`finish ${execution.id} terminated`]);
});
test('C102: a container of a later start is removed if its execution is queued in the copy, which then starts with a later generation', () => {
  const rig = new CoreRig();
  const execution = rig.submit();
  const web = named(execution, 'web0');
  rig.turn();
  expect(rig.join(hostFacts('one'), inventory(web.id, 2))).toEqual([]);
  expect(web).toMatchObject({ status: 'terminating', generation: 2 });
  rig.report(rig.hostOf(web), inventory(web.id, 2, { state: 'gone' }));
  rig.advance(60_000);
  expect(execution.status).toBe('starting');
  expect(web).toMatchObject({ status: 'starting', generation: 3 });
});
test('C102: a container of a later start is removed if its elastic service is not placed in the copy', () => {
  const rig = new CoreRig();
  rig.hello(hostFacts('one', { cores: 0.1 }));
  const execution = rig.submitInTurn(application(service({ total_count: 2, essential_count: 1 })));
  rig.see(named(execution, 'web0'), running);
  const elastic = named(execution, 'web1');
  const present = [...inventory(named(execution, 'web0').id, 1), ...inventory(elastic.id, 5)];
  const host = rig.hello(hostFacts('one'), present);
  rig.change(host, { accept: host.pending ?? undefined });
  expect(elastic).toMatchObject({ status: 'terminating', placed: false });
  rig.report(rig.hostOf(elastic), inventory(elastic.id, 5, { state: 'gone' }));
  expect(elastic).toMatchObject({ status: 'starting', generation: 6, placed: true });
});
test('C102, C219: a container of a later start is not adopted on another host than the one in the copy, if no service can have been started as often, or if its execution has ended and is being deleted', () => {
  const { rig, execution, side } = runningRig();
  expect(rig.join(hostFacts('two'), inventory(side.id, 9))).toEqual([]);
  expect(side).toMatchObject({ generation: 1, status: 'active' });
  expect(rig.hostOf(side).name).toBe('one');
  rig.hello(hostFacts('one'), inventory(side.id, 1e9 + 1));
  expect(side.generation).toBe(1);
  rig.terminate(execution);
  for (const one of execution.services) rig.see(one, { state: 'gone' });
  expect(execution.status).toBe('terminated');
  rig.remove(execution);
  rig.hello(hostFacts('one'), inventory(side.id, 3));
  expect(side).toMatchObject({ generation: 1, status: 'inactive' });
});
