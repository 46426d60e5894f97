import { afterEach, beforeEach, expect, test } from 'vitest';
import { AgentMachine } from '../../../support/agents/agent-machine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let machine: AgentMachine;

beforeEach(async () => {
  machine = await AgentMachine.open();
});
afterEach(() => machine.close());

test('P30: containers of services that are unknown to the control plane are left alone', async () => {
  const first = await machine.rig.peer.connection();
  first.welcome([assignment(), assignment({ service: 7 }), assignment({ service: 9 })]);
  for (const service of [1, 7, 9]) await first.reported(service, 'running');
  const second = await machine.restart();
  second.welcome([assignment()], { unknown: [{ first: 7, last: 8 }] });
  await second.reported(9, 'gone');
  expect([...machine.engine.containers.values()].map(({ service }) => service)).toEqual([1, 7]);
  const report = await eventually(() => second.reports().find(({ conditions }) => conditions?.length === 1));
  expect(report?.conditions).toEqual([{ kind: 'unknown-containers', text: expect.stringContaining('(7)') }]);
});
test('P30: the containers are removed once the control plane no longer lists their services as unknown', async () => {
  const first = await machine.rig.peer.connection();
  first.welcome([assignment({ service: 7 })]);
  await first.reported(7, 'running');
  const second = await machine.restart();
  second.welcome([], { unknown: [{ first: 7, last: 7 }] });
  second.terminate();
  const third = await machine.rig.peer.connection(2);
  expect((await third.hello()).inventory).toHaveLength(1);
  third.welcome([]);
  await third.reported(7, 'gone');
  expect(machine.engine.containers.size).toBe(0);
});
test('P31: hello carries the highest ids of containers and stored logs', async () => {
  const first = await machine.rig.peer.connection();
  expect((await first.hello()).highest).toEqual({ execution: 0, service: 0 });
  first.welcome([assignment({ service: 7, execution: 3 }), assignment({ service: 9, execution: 5 })]);
  for (const service of [7, 9]) await first.reported(service, 'running');
  first.stop({ service: 9, generation: 1 });
  await first.reported(9, 'gone');
  first.terminate();
  const second = await machine.rig.peer.connection(2);
  expect((await second.hello()).highest).toEqual({ execution: 5, service: 9 });
  const third = await machine.restart();
  expect((await third.hello()).highest).toEqual({ execution: 5, service: 9 });
});
