import { beforeEach, expect, test } from 'vitest';
import { EngineError } from '../../../../agent/engine/engine.ts';
import { pauseMs } from '../../../../agent/services/agent.ts';
import { AgentMachine } from '../../../support/agents/agent-machine.ts';
import type { PeerConnection } from '../../../support/agents/control-plane-peer.ts';
import type { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const key = { service: 1, generation: 1 };
let machine: AgentMachine;
let engine: FakeEngine;

beforeEach(() => {
  machine = new AgentMachine();
  engine = machine.engine;
});

const callsOf = (call: string) => engine.calls.filter((one) => one === call);
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

test('P5: a stop that failed is retried without waiting for the periodic refresh', async () => {
  let failures = 0;
  engine.before = (call) => {
    if (call.startsWith('stop') && failures++ === 0) throw new EngineError('temporary', 'busy');
  };
  const connection = await machine.run();
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

test('P30, P33: a lease that expires before the first sync leaves the services alone that were unknown', async () => {
  await machine.run([assignment(), assignment({ service: 7 })]);
  await machine.restart();
  machine.rig.agent.lapse([{ first: 7, last: 7 }]);
  await eventually(() => engine.containers.size === 1);
  expect([...engine.containers.values()][0]?.service).toBe(7);
  expect(machine.rig.output.isLapsed({ service: 7, generation: 1 })).toBe(false);
});

test('P10: before the first sync any log may still grow, and after it only that of an assigned service', async () => {
  const connection = await machine.begin();
  expect(machine.rig.agent.mayWrite(key)).toBe(true);
  await connection.run([assignment({ service: 2 })]);
  expect(machine.rig.agent.mayWrite(key)).toBe(false);
});

test('P315: a container that the engine refuses to remove is named at its service and its host, until it is gone', async () => {
  const connection = await machine.run();
  engine.refuse('remove', new EngineError('temporary', 'its volume is busy'));
  connection.stop(key);
  expect(await connection.reported(1, 'preparing')).toMatchObject({
    ...key,
    detail: 'the engine refuses to remove its container: its volume is busy',
  });
  const stuck = () => machine.rig.conditions.textOf('stuck-containers');
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
  const stuck = () => machine.rig.conditions.textOf('stuck-containers');
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
