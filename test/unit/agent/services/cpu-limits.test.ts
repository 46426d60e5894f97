/** CPU limits as services come and go: the agent divides two cores. */
import { beforeEach, expect, test } from 'vitest';
import { EngineError } from '../../../../agent/engine/engine.ts';
import { AgentMachine } from '../../../support/agents/agent-machine.ts';
import type { PeerConnection } from '../../../support/agents/control-plane-peer.ts';
import type { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let machine: AgentMachine;
let engine: FakeEngine;

beforeEach(() => {
  machine = new AgentMachine();
  engine = machine.engine;
});

/** Starts services 1 to `count` at once. Container c1 is service 1's. */
const beginWith = (count: number): Promise<PeerConnection> =>
  machine.run(Array.from({ length: count }, (_, at) => assignment({ service: at + 1 })));

const limitOf = (id: string) => engine.containers.get(id)?.cpu?.limit;
const changes = () => engine.calls.filter((call) => call.startsWith('limit'));

test('C81: a new service starts with its share, and the shares of the others shrink', async () => {
  const connection = await beginWith(1);
  expect(limitOf('c1')).toBe(2);
  connection.start(assignment({ service: 2, coresMin: 0.5 }));
  await connection.reported(2, 'running');
  expect(limitOf('c2')).toBe(1.2);
  await eventually(() => limitOf('c1') === 0.8);
  expect(changes()).toEqual(['limit c1 0.8']);
});
test('C81: services that come together start with their final share, and count as one change for the others', async () => {
  const connection = await beginWith(3);
  expect(['c1', 'c2', 'c3'].map(limitOf)).toEqual([0.66, 0.66, 0.66]);
  machine.rig.agent.start(assignment({ service: 4 }));
  machine.rig.agent.start(assignment({ service: 5 }));
  await connection.reported(5, 'running');
  expect(limitOf('c5')).toBe(0.4);
  expect(limitOf('c4')).toBe(0.4);
  const others = ['c1', 'c2', 'c3'];
  await eventually(() => others.every((id) => limitOf(id) === 0.4));
  expect(changes().toSorted()).toEqual(others.map((id) => `limit ${id} 0.4`));
});
test('C81: a service takes no share while its image is pulled', async () => {
  const pulled = engine.hold('pull');
  const connection = await beginWith(1);
  connection.start(assignment({ service: 2, image: 'nginx:1' }));
  connection.start(assignment({ service: 3 }));
  await connection.reported(2, 'preparing');
  await eventually(() => limitOf('c1') === 1 && limitOf('c2') === 1);
  pulled.resolve();
  await connection.reported(2, 'running');
  await eventually(() => ['c1', 'c2', 'c3'].every((id) => limitOf(id) === 0.66));
});

test('C81: the shares of the others grow when a service ends, up to their max', async () => {
  const capped = assignment({ service: 2, coresMax: 0.8 });
  const connection = await machine.run([assignment(), capped, assignment({ service: 3 })]);
  engine.exit('c3', 0);
  await eventually(() => limitOf('c1') === 1.2 && limitOf('c2') === 0.8);
  connection.stop(assignment({ service: 1 }));
  await connection.reported(1, 'gone');
  connection.start(assignment({ service: 4, coresMin: 1, coresMax: 1 }));
  await connection.reported(4, 'running');
  expect(limitOf('c4')).toBe(1);
  expect(changes()).toEqual(['limit c1 1.2', 'limit c2 0.8']);
});
test('P15: the limits also change without a connection, and by the labels alone before the first assignment', async () => {
  const connection = await beginWith(3);
  connection.terminate();
  engine.exit('c3', 0);
  await eventually(() => limitOf('c1') === 1);
  await machine.rig.close();
  engine.exit('c2', 0);
  await machine.begin();
  await eventually(() => limitOf('c1') === 2);
});

test.each<[string, again: (connection: PeerConnection) => unknown]>([
  ['change', (connection) => connection.stop(assignment({ service: 9 }))],
  ['refresh', () => machine.rig.agent.refresh()],
])('C82: a failed update affects nothing else, and is retried at the next %s', async (_, again) => {
  engine.refuse('limit c1 1', new EngineError('temporary', 'busy'));
  const connection = await beginWith(3);
  engine.exit('c3', 0);
  await eventually(() => limitOf('c2') === 1);
  expect(machine.rig.log).toContainEqual(expect.stringContaining('"event":"cpu-limit.update-failed"'));
  expect(limitOf('c1')).toBe(0.66);
  engine.before = () => {};
  await again(connection);
  await eventually(() => limitOf('c1') === 1);
  const states = machine.rig.agent.inventory().map(({ state }) => state);
  expect(states).toEqual(['running', 'running', 'exited']);
});
test('C82: services start and stop while a slow update is in progress', async () => {
  const slow = engine.hold('limit');
  const connection = await beginWith(2);
  engine.exit('c2', 0);
  await eventually(() => changes().length === 1);
  connection.start(assignment({ service: 3 }));
  await connection.reported(3, 'running');
  connection.stop(assignment({ service: 1 }));
  await connection.reported(1, 'gone');
  slow.resolve();
  await eventually(() => limitOf('c3') === 2);
});
test('C82: a container without CPU labels stays as it is', async () => {
  const key = { service: 9, generation: 1 };
  const other = { ...key, id: 'old', ipAddress: '', ports: [], startedAtMs: 1 };
  engine.containers.set('old', { ...other, state: 'running' });
  const connection = await machine.welcome([assignment(key), assignment({ service: 1 })]);
  await connection.reported(1, 'running');
  expect(limitOf('c1')).toBe(2);
  connection.start(assignment({ service: 2 }));
  await eventually(() => limitOf('c1') === 1);
  expect(changes()).toEqual(['limit c1 1']);
});

test('P150: the agent applies the shares of an acknowledgement, until others replace them', async () => {
  const connection = await machine.run([assignment(), assignment({ service: 2, execution: 2 })]);
  await eventually(() => limitOf('c1') === 1 && limitOf('c2') === 1);
  machine.rig.agent.cpuLimits.share([{ cores: 0.5, executions: [1] }]);
  await eventually(() => limitOf('c1') === 0.5 && limitOf('c2') === 1.5);
  connection.start(assignment({ service: 3, execution: 1 }));
  await connection.reported(3, 'running');
  expect(limitOf('c3')).toBe(0.25);
  await eventually(() => limitOf('c1') === 0.25 && limitOf('c2') === 1.5);
  machine.rig.agent.cpuLimits.share([]);
  await eventually(() => ['c1', 'c2', 'c3'].every((id) => limitOf(id) === 0.66));
});
