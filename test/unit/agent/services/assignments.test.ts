import { beforeEach, expect, test } from 'vitest';
import { EngineError } from '../../../../agent/engine/engine.ts';
import { AgentMachine } from '../../../support/agents/agent-machine.ts';
import type { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let machine: AgentMachine;
let engine: FakeEngine;
beforeEach(() => {
  machine = new AgentMachine();
  engine = machine.engine;
});

const STARTED = ['create 1.1', 'start 1.1'];
const callsOf = (call: string) => engine.calls.filter((one) => one === call);

test('P2, P3, P5: hello lists every container, and what is missing from the last part of a sync is stopped, removed and gone', async () => {
  const running = await (await machine.run()).reported(1, 'running');
  const second = await machine.restart();
  expect((await second.hello()).inventory).toEqual([running]);
  second.send({ type: 'welcome', version: 1, session: 's', reportPeriodMs: 60_000, timeMs: Date.now() });
  second.send({ type: 'sync', revision: 0, assignments: [], more: true });
  second.send({ type: 'sync', revision: 0, assignments: [assignment()], more: false });
  await eventually(() => machine.rig.log.some((line) => line.includes('session.synced')));
  expect(engine.calls).toEqual(STARTED);
  const third = await machine.restart();
  third.welcome([]);
  await third.reported(1, 'gone');
  expect(engine.calls.slice(2)).toEqual(['stop c1', 'remove c1']);
});

test('P3: the assignments of all parts of a sync are started', async () => {
  const connection = await machine.begin();
  connection.send({ type: 'welcome', version: 1, session: 's', reportPeriodMs: 60_000, timeMs: Date.now() });
  const first = [assignment(), assignment({ service: 2 })];
  connection.send({ type: 'sync', revision: 1, assignments: first, more: true });
  connection.send({ type: 'sync', revision: 1, assignments: [assignment({ service: 3 })], more: false });
  for (const service of [1, 2, 3]) await connection.reported(service, 'running');
});

test('P5: a repeated assignment starts nothing, and the end of a container is reported with its exit code', async () => {
  const connection = await machine.run([]);
  connection.start(assignment());
  await connection.reported(1, 'running');
  connection.start(assignment());
  connection.start(assignment({ service: 2 }));
  await connection.reported(2, 'running');
  expect(callsOf('create 1.1')).toHaveLength(1);
  engine.exit('c1', 3);
  expect(await connection.reported(1, 'exited')).toMatchObject({ exitCode: 3 });
});

test.each([true, false])(
  'P5: a key whose container was removed while no agent ran is gone and not started again, whether its start was answered (%s) or not',
  async (isAnswered) => {
    if (!isAnswered) engine.hold('start 1.1');
    const first = await machine.welcome();
    await eventually(() => engine.calls.includes('start 1.1'));
    if (isAnswered) await first.reported(1, 'running');
    await machine.rig.close();
    engine.containers.clear();
    const second = await machine.welcome();
    await second.reported(1, 'gone');
    expect(engine.calls).toEqual(STARTED);
  },
);

test('P2, P5: a start that failed for good leaves neither container nor mark, and hello lists it', async () => {
  engine.refuse('start 1.1', new EngineError('permanent', 'executable file not found'));
  const connection = await machine.welcome();
  const failed = await connection.reported(1, 'failed');
  expect(failed).toMatchObject({ temporary: false, message: 'executable file not found' });
  expect(machine.rig.output.wasStarted(assignment())).toBe(false);
  await eventually(() => engine.containers.size === 0);
  connection.terminate();
  expect((await (await machine.rig.peer.connection(2)).hello()).inventory).toEqual([failed]);
});

test('P5: a start that failed temporarily leaves its mark, because the container may have run', async () => {
  engine.refuse('start 1.1', new EngineError('temporary', 'Server Error'));
  const connection = await machine.welcome();
  await connection.reported(1, 'failed');
  expect(machine.rig.output.wasStarted(assignment())).toBe(true);
});

test('a container whose output cannot be preserved yet continues to run, and its output is preserved later', async () => {
  const connection = await machine.begin();
  const preserve = machine.rig.output.preserve.bind(machine.rig.output);
  let failures = 2;
  machine.rig.output.preserve = async (container) => {
    if (failures-- > 0) throw new Error('no space left on device');
    return preserve(container);
  };
  await connection.run([assignment()]);
  await eventually(async () => {
    await machine.rig.agent.refresh();
    return machine.rig.output.stateOf('c1') !== 'unknown';
  });
  expect(engine.calls).toEqual(STARTED);
});

test('P5, P60: a container that a person removes is gone at once and not started again, and nothing is left of it once that is acknowledged', async () => {
  const connection = await machine.run();
  expect(machine.rig.output.wasStarted(assignment())).toBe(true);
  await eventually(() => machine.rig.output.stateOf('c1') !== 'unknown');
  engine.vanish('c1');
  await connection.reported(1, 'gone');
  expect(machine.rig.output.stateOf('c1')).toBe('unknown');
  expect(engine.calls).toEqual(STARTED);
  connection.send({ type: 'ack', sequence: connection.reports().at(-1)?.sequence ?? 0 });
  await eventually(() => !machine.rig.output.wasStarted(assignment()));
  expect(machine.rig.agent.isKnown(1)).toBe(false);
  await machine.rig.agent.refresh();
  expect(connection.observations(1).filter(({ state }) => state === 'gone')).toHaveLength(1);
});

test('P5, P60: a key whose container was removed is not started again before its gone is acknowledged', async () => {
  const connection = await machine.run([]);
  // Created by another agent on the machine, whose control plane has progressed further.
  await engine.create(assignment(), 1);
  await engine.start(assignment(), 'c1', 1, true);
  await machine.rig.agent.refresh();
  await connection.reported(1, 'gone');
  connection.start(assignment());
  connection.start(assignment({ service: 2 }));
  await connection.reported(2, 'running');
  expect(callsOf('create 1.1')).toHaveLength(1);
});

test('P5: a key that was reported as gone does not start when a restored database requests it again', async () => {
  const connection = await machine.run([]);
  connection.stop({ service: 9, generation: 4 });
  await connection.reported(9, 'gone');
  connection.start(assignment({ service: 9, generation: 4 }));
  connection.start(assignment({ service: 2 }));
  await connection.reported(2, 'running');
  expect(engine.calls).toEqual(['create 2.1', 'start 2.1']);
});

test('P5, P114: a container whose start the engine has forgotten starts again, and is not replaced', async () => {
  await machine.run();
  const running = engine.containers.get('c1');
  if (running) engine.containers.set('c1', { ...running, state: 'created' });
  await machine.rig.agent.refresh();
  await eventually(() => engine.mayReplace.length === 2);
  expect(engine.calls).toEqual([...STARTED, 'start 1.1']);
  expect(engine.mayReplace).toEqual([true, false]);
});

test('a new generation starts only after the old container is gone', async () => {
  const connection = await machine.run();
  connection.start(assignment({ generation: 2 }));
  await eventually(() => engine.calls.includes('start 1.2'));
  expect(engine.calls.slice(2)).toEqual(['stop c1', 'remove c1', 'create 1.2', 'start 1.2']);
});

test('a stop during a start lets the start finish, and then removes the container', async () => {
  const started = engine.hold('start');
  const connection = await machine.welcome();
  await eventually(() => engine.calls.includes('start 1.1'));
  connection.stop(assignment());
  started.resolve();
  await connection.reported(1, 'gone');
  expect(engine.containers.size).toBe(0);
});

test('a missing image is pulled, its progress is reported, and a start fails if the image is still missing', async () => {
  const pulled = engine.hold('pull');
  const connection = await machine.welcome([assignment({ image: 'nginx:1' })]);
  expect(await connection.reported(1, 'preparing')).toMatchObject({ detail: 'pulling nginx:1' });
  pulled.resolve();
  await connection.reported(1, 'running');
  engine.pull = async () => {};
  connection.start(assignment({ service: 2, image: 'nginx:2' }));
  expect(await connection.reported(2, 'failed')).toMatchObject({ message: 'No such image: nginx:2' });
});

test('steps on an unreachable engine are retried, and no service fails or is gone while the engine does not answer', async () => {
  engine.before = (call) => {
    if (callsOf(call).length < 3) throw new EngineError('unreachable', 'refused');
  };
  const connection = await machine.run();
  expect(connection.observations(1).map(({ state }) => state)).not.toContain('failed');
  engine.list = () => Promise.reject(new EngineError('unreachable', 'refused'));
  await expect(machine.rig.agent.refresh()).rejects.toThrow('refused');
  expect(machine.rig.agent.inventory()).toMatchObject([{ service: 1, state: 'running' }]);
});

test('P30: containers of services that are unknown to the control plane are left alone, until it no longer lists them', async () => {
  await machine.run([assignment(), assignment({ service: 7 }), assignment({ service: 9 })]);
  const second = await machine.restart();
  second.welcome([assignment()], { unknown: [{ first: 7, last: 8 }] });
  await second.reported(9, 'gone');
  const services = () => [...engine.containers.values()].map(({ service }) => service);
  expect(services()).toEqual([1, 7]);
  const report = await eventually(() => second.reports().find(({ conditions }) => conditions?.length === 1));
  expect(report?.conditions).toEqual([{ kind: 'unknown-containers', text: expect.stringContaining('(7)') }]);
  second.terminate();
  const third = await machine.rig.peer.connection(2);
  expect((await third.hello()).inventory).toHaveLength(2);
  third.welcome([assignment()]);
  await third.reported(7, 'gone');
  expect(services()).toEqual([1]);
});
