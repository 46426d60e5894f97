import { beforeEach, expect, test } from 'vitest';
import {
  findExecution,
  findService,
  findServiceRows,
  servicesOf,
} from '../../../control-plane/store/executions/executions.ts';
import { application, service } from '../../support/fixtures/applications.ts';
import { CoordinatorRig, seen } from '../../support/rigs/coordinator-rig.ts';
import { failed, running } from '../../support/rigs/core-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

let rig: CoordinatorRig;
beforeEach(async () => {
  rig = await CoordinatorRig.open();
});

const two = application(service({ total_count: 2, essential_count: 2 }));
const serviceRows = () =>
  rig.memory.query('SELECT id, execution_id, name, generation FROM services ORDER BY id');

test('C174, H362: an execution that waits has no rows of services, and is shown with the services that it gets', async () => {
  const [one, other] = [await rig.submit(two), await rig.submit(two)];
  expect(await serviceRows()).toEqual([]);
  const execution = await findExecution(rig.memory, other);
  const shown = execution ? servicesOf(execution, await findServiceRows(rig.memory, other)) : [];
  expect(shown).toMatchObject([
    { id: 3, name: 'web0', executionId: other, status: 'inactive', backendStatus: 'undefined', starts: 0 },
    { id: 4, name: 'web1', executionId: other, status: 'inactive', backendStatus: 'undefined', starts: 0 },
  ]);
  expect(await findService(rig.memory, 4)).toEqual(shown[1]);
  expect(await findService(rig.memory, 5)).toBeUndefined();
  const agent = await rig.agent().join();
  await agent.started(4);
  expect(await serviceRows()).toEqual(
    [one, one, other, other].map((execution_id, at) => ({
      ...{ id: at + 1, execution_id, name: `web${at % 2}`, generation: 1 },
    })),
  );
});

test('C174: what waits starts after a restart, without a description in memory', async () => {
  const ids: number[] = [];
  for (let at = 0; at < 5; at++) ids.push(await rig.submit(application(service()), `run${at}`));
  rig.restart();
  const agent = await rig.agent().join();
  await agent.started(5);
  expect((await serviceRows()).map(({ execution_id }) => execution_id)).toEqual(ids);
  expect(await rig.submit()).toBe(6);
  await agent.started(6);
  expect((await serviceRows()).at(-1)).toMatchObject({ id: 6, execution_id: 6 });
});

test('C174: ids of services are not given again after an execution that was never placed is deleted', async () => {
  const id = await rig.submit(two);
  await rig.coordinator.remove(id);
  rig.restart();
  await rig.submit();
  expect(await rig.memory.query('SELECT first_service_id FROM executions')).toEqual([
    { first_service_id: 3 },
  ]);
});

test('C174, C13: an execution that returned to the queue continues with its next start, and is removed, if it is deleted, once its logs are gone', async () => {
  const { agent, id, start: web } = await rig.starts();
  await agent.reportEach(web, failed(true), { state: 'gone' });
  expect(await rig.statusOf(id)).toBe('queued');
  const explanation = await rig.coordinator.explain(id);
  expect(explanation?.waitingFor[0]).toContain('service web0: no such thing');
  rig.pass(2_000);
  const again = await agent.started(2);
  expect([again.service, again.generation]).toEqual([web.service, 2]);
  await agent.reportEach(again, failed(true), { state: 'gone' });
  expect(await rig.statusOf(id)).toBe('queued');
  await rig.coordinator.remove(id);
  await eventually(() => agent.socket.all('forget').length > 0);
  expect(agent.socket.all('forget')[0]?.services).toEqual([web.service]);
});

test('C102: a host that has a later start of an execution that waits makes it wait until that container is gone', async () => {
  const id = await rig.submit();
  const agent = rig.agent();
  agent.hello([seen({ service: 1, generation: 4 } as never, running)]);
  await eventually(() => agent.socket.all('sync').length > 0);
  // The sync omits the start, so the agent removes its container.
  expect(agent.socket.all('sync')[0]?.assignments).toEqual([]);
  expect(await serviceRows()).toEqual([{ id: 1, execution_id: id, name: 'web0', generation: 4 }]);
});
