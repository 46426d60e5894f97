import { beforeEach, expect, test } from 'vitest';
import { EngineError } from '../../../../agent/engine/engine.ts';
import { pauseMs } from '../../../../agent/services/agent.ts';
import { AgentMachine } from '../../../support/agents/agent-machine.ts';
import type { PeerConnection } from '../../../support/agents/control-plane-peer.ts';
import type { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const key = { service: 1, generation: 1 };
const STARTED = ['create 1.1', 'start 1.1'];
let machine: AgentMachine;
let engine: FakeEngine;

beforeEach(() => {
  machine = new AgentMachine();
  engine = machine.engine;
});

const callsOf = (call: string) => engine.calls.filter((one) => one === call);
const stuck = () => machine.rig.conditions.textOf('stuck-containers');
const statesOf = (connection: PeerConnection) => connection.observations(1).map(({ state }) => state);

test('P5: a container that was started while a refresh listed the containers does not count as gone', async () => {
  const connection = await machine.run([]);
  const listed = Promise.withResolvers<void>();
  engine.list = async () => {
    await listed.promise;
    return [];
  };
  const refreshed = machine.rig.agent.refresh();
  connection.start(assignment());
  await connection.reported(1, 'running');
  listed.resolve();
  await refreshed;
  expect(machine.rig.agent.inventory()).toEqual([expect.objectContaining({ ...key, state: 'running' })]);
});

test('P5: a start that fails after its key was replaced is no failure of the new key', async () => {
  const failure = engine.hold('create 1.1');
  const connection = await machine.welcome();
  await eventually(() => callsOf('create 1.1').length === 1);
  connection.start(assignment({ generation: 2 }));
  await eventually(() => machine.rig.agent.mayWrite({ service: 1, generation: 2 }));
  failure.reject(new EngineError('temporary', 'no address is free'));
  expect(await connection.reported(1, 'running')).toMatchObject({ generation: 2 });
  expect(statesOf(connection)).not.toContain('failed');
});

test('P5: a stop ends the pull of an image that nothing else waits for', async () => {
  engine.images.clear();
  engine.pull = (_image, _progress, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new EngineError('temporary', 'no longer wanted')));
    });
  const connection = await machine.welcome();
  await eventually(() => callsOf('create 1.1').length === 1);
  connection.stop(key);
  await connection.reported(1, 'gone');
});

test('P33: a key that was given up is gone only when its container is, even if a sync names it', async () => {
  engine.refuse('stop', new EngineError('temporary', 'busy'));
  const connection = await machine.run();
  machine.rig.agent.lapse([]);
  await eventually(() => machine.rig.log.some((line) => line.includes('step.failed')));
  machine.rig.agent.sync([assignment(), assignment({ service: 2 })]);
  await connection.reported(2, 'running');
  expect(statesOf(connection)).not.toContain('gone');
});

test('P10: before the first sync any log may still grow, and after it only that of an assigned service', async () => {
  const connection = await machine.begin();
  expect(machine.rig.agent.mayWrite(key)).toBe(true);
  await connection.run([assignment({ service: 2 })]);
  expect(machine.rig.agent.mayWrite(key)).toBe(false);
});

test('P5, P315: a container that the engine refuses to remove is named at its service and its host, until a retry succeeds', async () => {
  const connection = await machine.run();
  engine.refuse('remove', new EngineError('temporary', 'its volume is busy'));
  connection.stop(key);
  expect(await connection.reported(1, 'preparing')).toMatchObject({
    ...key,
    detail: 'the engine refuses to remove its container: its volume is busy',
  });
  const failures = () => machine.rig.log.filter((line) => line.includes('step.failed'));
  expect(stuck()).toMatch(/services \(1\), .*: its volume is busy$/);
  expect(failures()).toHaveLength(1);
  await eventually(() => callsOf('remove c1').length === 2);
  expect(failures()).toHaveLength(1);
  engine.before = () => {};
  await connection.reported(1, 'gone');
  expect(stuck()).toBeUndefined();
});

test('P328: a removal that hangs is named at its service and its host, until it ends', async () => {
  const connection = await machine.begin({ hangsMs: 20 });
  await connection.run([assignment()]);
  const removal = engine.hold('remove');
  connection.stop(key);
  expect(await connection.reported(1, 'preparing')).toMatchObject({
    ...key,
    detail: expect.stringMatching(/^the engine was requested to remove its container: no answer yet/),
  });
  expect(stuck()).toMatch(/services \(1\), .*: no answer yet/);
  expect(machine.rig.log.filter((line) => line.includes('step.hangs'))).toHaveLength(1);
  connection.start(assignment({ service: 2 }));
  await connection.reported(2, 'running');
  removal.resolve();
  await connection.reported(1, 'gone');
  expect(stuck()).toBeUndefined();
  expect(callsOf('remove c1')).toHaveLength(1);
});

test('P315: the pauses between attempts double, up to a minute', () => {
  expect([1, 2, 3, 6, 7, 100].map(pauseMs)).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000]);
});

test('P30, P182: before the first sync no container counts as running and no image as known', async () => {
  await machine.run();
  expect(machine.rig.agent.running()).toMatchObject([key]);
  expect(machine.rig.agent.images()).toEqual([assignment().image]);
  await (await machine.restart()).hello();
  const { agent } = machine.rig;
  expect([agent.running(), agent.images(), agent.isIdle]).toEqual([[], undefined, false]);
  expect([agent.hasContainer('c1'), agent.hasContainer('c2')]).toEqual([true, false]);
  const known = [agent.isKnown(1), agent.isKnown(1, 1), agent.isKnown(1, 2), agent.isKnown(2)];
  expect(known).toEqual([true, true, false, false]);
});

test('P5: an agent that closes ends its pulls and begins no further step', async () => {
  let pull: AbortSignal | undefined;
  engine.images.clear();
  engine.pull = (_image, _progress, signal) => {
    pull = signal;
    return new Promise(() => {});
  };
  await machine.welcome();
  await eventually(() => pull !== undefined);
  const { agent } = machine.rig;
  agent.close();
  agent.start(assignment({ service: 2 }));
  expect(pull?.aborted).toBe(true);
  expect(engine.calls).not.toContain('create 2.1');
});

test('P2, P3, P5: hello lists every container, all parts of a sync are started, and what is missing from the last one is stopped, removed and gone', async () => {
  const running = await (await machine.run()).reported(1, 'running');
  const second = await machine.restart();
  expect((await second.hello()).inventory).toEqual([running]);
  second.send({ type: 'welcome', version: 1, session: 's', reportPeriodMs: 60_000, timeMs: Date.now() });
  second.send({ type: 'sync', revision: 0, assignments: [assignment({ service: 2 })], more: true });
  second.send({ type: 'sync', revision: 0, assignments: [assignment()], more: false });
  await second.reported(2, 'running');
  expect(engine.calls).toEqual([...STARTED, 'create 2.1', 'start 2.1']);
  const third = await machine.restart();
  third.welcome([assignment({ service: 2 })]);
  await third.reported(1, 'gone');
  expect(engine.calls.slice(4)).toEqual(['stop c1', 'remove c1']);
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

test('P2, P5: a start that failed for good leaves neither container nor mark, hello lists it, and one that failed temporarily leaves its mark', async () => {
  const connection = await machine.begin();
  const { output, peer } = machine.rig;
  engine.before = (call) => {
    if (call === 'start 1.1') throw new EngineError('permanent', 'executable file not found');
    if (call === 'start 2.1') throw new EngineError('temporary', 'Server Error');
  };
  connection.welcome([assignment()]);
  const failed = await connection.reported(1, 'failed');
  expect(failed).toMatchObject({ temporary: false, message: 'executable file not found' });
  expect(output.wasStarted(assignment())).toBe(false);
  await eventually(() => engine.containers.size === 0);
  connection.terminate();
  const again = await peer.connection(2);
  expect((await again.hello()).inventory).toEqual([failed]);
  again.welcome([assignment(), assignment({ service: 2 })]);
  await again.reported(2, 'failed');
  // Its container may have run.
  expect(output.wasStarted(assignment({ service: 2 }))).toBe(true);
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

test('P5, P60: a key that was reported as gone is not started again before that is acknowledged, whether it had a container or not', async () => {
  const connection = await machine.run([]);
  // Created by another agent on the machine, whose control plane has progressed further.
  await engine.create(assignment(), 1);
  await engine.start(assignment(), 'c1', 1, true);
  await machine.rig.agent.refresh();
  await connection.reported(1, 'gone');
  // Both are requested again, the second one by a restored database.
  const other = assignment({ service: 9, generation: 4 });
  connection.stop(other);
  await connection.reported(9, 'gone');
  for (const one of [assignment(), other, assignment({ service: 2 })]) connection.start(one);
  await connection.reported(2, 'running');
  expect(callsOf('create 1.1')).toHaveLength(1);
  expect(callsOf('create 9.4')).toEqual([]);
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
