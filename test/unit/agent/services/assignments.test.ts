import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EngineError } from '../../../../agent/engine/engine.ts';
import { AgentMachine } from '../../../support/agents/agent-machine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let machine: AgentMachine;

beforeEach(async () => {
  machine = await AgentMachine.open();
});
afterEach(() => machine.close());

describe('running services', () => {
  test('P3: nothing is removed before the last part of the sync', async () => {
    const first = await machine.rig.peer.connection();
    first.welcome([assignment()]);
    await first.reported(1, 'running');
    const second = await machine.restart();
    second.send({ type: 'welcome', version: 1, session: 's', reportPeriodMs: 60_000, timeMs: Date.now() });
    second.send({ type: 'sync', revision: 0, assignments: [], more: true });
    second.send({ type: 'sync', revision: 0, assignments: [assignment()], more: false });
    await eventually(() => machine.rig.log.some((line) => line.includes('session.synced')));
    expect(machine.engine.calls).toEqual(['create 1.1', 'start 1.1']);
  });
  test('P5: a repeated assignment starts nothing', async () => {
    const connection = await machine.rig.peer.connection();
    connection.welcome();
    connection.start(assignment());
    await connection.reported(1, 'running');
    connection.start(assignment());
    connection.start(assignment({ service: 2 }));
    await connection.reported(2, 'running');
    expect(machine.engine.calls.filter((call) => call === 'create 1.1')).toHaveLength(1);
  });
  test('P5: a container that is missing from the sync is stopped, removed and reported as gone', async () => {
    const first = await machine.rig.peer.connection();
    first.welcome([assignment()]);
    await first.reported(1, 'running');
    const second = await machine.restart();
    second.welcome([]);
    await second.reported(1, 'gone');
    expect(machine.engine.calls.slice(2)).toEqual(['stop c1', 'remove c1']);
  });
  test('P5: a key whose container was removed while no agent ran is gone and not started again', async () => {
    const first = await machine.rig.peer.connection();
    first.welcome([assignment()]);
    await first.reported(1, 'running');
    await machine.rig.close();
    machine.engine.containers.clear();
    const second = await machine.begin();
    second.welcome([assignment()]);
    await second.reported(1, 'gone');
    expect(machine.engine.calls).toEqual(['create 1.1', 'start 1.1']);
  });
  test('P5: a key is not started again if the agent was killed before the answer to its start and the container was removed since', async () => {
    const connection = await machine.rig.peer.connection();
    // The answer never arrives, and the agent is killed.
    machine.engine.before = (call) => (call === 'start 1.1' ? new Promise(() => {}) : undefined);
    connection.welcome([assignment()]);
    await eventually(() => machine.engine.calls.includes('start 1.1'));
    machine.engine.containers.clear();
    const second = await machine.restart();
    second.welcome([assignment()]);
    await second.reported(1, 'gone');
    expect(machine.engine.calls).toEqual(['create 1.1', 'start 1.1']);
  });
  test('P5: a failed start leaves no mark, so that the next agent finds the failure and not a container that is gone', async () => {
    const connection = await machine.rig.peer.connection();
    machine.engine.before = (call) => {
      if (call === 'start 1.1') throw new EngineError('permanent', 'no such command');
    };
    connection.welcome([assignment()]);
    await connection.reported(1, 'failed');
    expect(machine.rig.output.wasStarted(assignment())).toBe(false);
  });
  test('P5: a start that failed temporarily leaves its mark, because the container may have run', async () => {
    const connection = await machine.rig.peer.connection();
    machine.engine.before = (call) => {
      if (call === 'start 1.1') throw new EngineError('temporary', 'Server Error');
    };
    connection.welcome([assignment()]);
    await connection.reported(1, 'failed');
    expect(machine.rig.output.wasStarted(assignment())).toBe(true);
  });
  test('a container whose output cannot be preserved yet continues to run, and its output is preserved later', async () => {
    const connection = await machine.rig.peer.connection();
    const preserve = machine.rig.output.preserve.bind(machine.rig.output);
    let failures = 2;
    machine.rig.output.preserve = async (container) => {
      if (failures-- > 0) throw new Error('no space left on device');
      return preserve(container);
    };
    connection.welcome([assignment()]);
    await connection.reported(1, 'running');
    await eventually(async () => {
      await machine.rig.agent.refresh();
      return machine.rig.output.stateOf('c1') !== 'unknown';
    });
    expect(machine.engine.calls).toEqual(['create 1.1', 'start 1.1']);
  });
  test('P60: nothing is left of a vanished container once its gone is acknowledged', async () => {
    const connection = await machine.rig.peer.connection();
    connection.welcome([assignment()]);
    await connection.reported(1, 'running');
    expect(machine.rig.output.wasStarted(assignment())).toBe(true);
    machine.engine.vanish('c1');
    await connection.reported(1, 'gone');
    connection.send({ type: 'ack', sequence: connection.reports().at(-1)?.sequence ?? 0 });
    await eventually(() => !machine.rig.output.wasStarted(assignment()));
    expect(machine.rig.agent.isKnown(1)).toBe(false);
    await machine.rig.agent.refresh();
    expect(connection.observations(1).filter(({ state }) => state === 'gone')).toHaveLength(1);
  });
  test('P5, P60: a key whose container was removed is not started again before its gone is acknowledged', async () => {
    const connection = await machine.rig.peer.connection();
    connection.welcome();
    // Created by another agent on the machine, whose control plane has progressed further.
    await machine.engine.create(assignment(), 1);
    await machine.engine.start(assignment(), 'c1', 1, true);
    await machine.rig.agent.refresh();
    await connection.reported(1, 'gone');
    connection.start(assignment());
    connection.start(assignment({ service: 2 }));
    await connection.reported(2, 'running');
    expect(machine.engine.calls.filter((call) => call === 'create 1.1')).toHaveLength(1);
  });
  test('P5: a key that was reported as gone does not start when a restored database requests it again', async () => {
    const connection = await machine.rig.peer.connection();
    connection.welcome();
    connection.stop({ service: 9, generation: 4 });
    await connection.reported(9, 'gone');
    const second = await machine.rig.peer.connection();
    second.start(assignment({ service: 9, generation: 4 }));
    second.start(assignment({ service: 2 }));
    await second.reported(2, 'running');
    expect(machine.engine.calls).toEqual(['create 2.1', 'start 2.1']);
  });
  test('P5, P114: a container whose start the engine has forgotten starts again, and is not replaced', async () => {
    const connection = await machine.rig.peer.connection();
    connection.welcome([assignment()]);
    await connection.reported(1, 'running');
    const running = machine.engine.containers.get('c1');
    if (running) machine.engine.containers.set('c1', { ...running, state: 'created' });
    await machine.rig.agent.refresh();
    await eventually(() => machine.engine.mayReplace.length === 2);
    expect(machine.engine.calls).toEqual(['create 1.1', 'start 1.1', 'start 1.1']);
    expect(machine.engine.mayReplace).toEqual([true, false]);
  });
  test('the end of a container is reported with its exit code', async () => {
    const connection = await machine.rig.peer.connection();
    connection.welcome([assignment()]);
    await connection.reported(1, 'running');
    machine.engine.exit('c1', 3);
    expect(await connection.reported(1, 'exited')).toMatchObject({ exitCode: 3 });
  });
  test('a new generation starts only after the old container is gone', async () => {
    const connection = await machine.rig.peer.connection();
    connection.welcome([assignment()]);
    await connection.reported(1, 'running');
    connection.start(assignment({ generation: 2 }));
    await eventually(() => machine.engine.calls.includes('start 1.2'));
    expect(machine.engine.calls.slice(2)).toEqual(['stop c1', 'remove c1', 'create 1.2', 'start 1.2']);
  });
  test('a stop during a start lets the start finish, and then removes the container', async () => {
    const started = Promise.withResolvers<void>();
    machine.engine.before = (call) => (call.startsWith('start') ? started.promise : undefined);
    const connection = await machine.rig.peer.connection();
    connection.welcome([assignment()]);
    await eventually(() => machine.engine.calls.includes('start 1.1'));
    connection.stop(assignment());
    started.resolve();
    await connection.reported(1, 'gone');
    expect(machine.engine.containers.size).toBe(0);
  });
  test('a missing image is pulled, and its progress is reported', async () => {
    const pulled = Promise.withResolvers<void>();
    machine.engine.before = (call) => (call.startsWith('pull') ? pulled.promise : undefined);
    const connection = await machine.rig.peer.connection();
    connection.welcome([assignment({ image: 'nginx:1' })]);
    expect(await connection.reported(1, 'preparing')).toMatchObject({ detail: 'pulling nginx:1' });
    pulled.resolve();
    await connection.reported(1, 'running');
  });
  test('a start fails if its image is still missing after the pull', async () => {
    const connection = await machine.rig.peer.connection();
    machine.engine.pull = async () => {};
    connection.welcome([assignment({ image: 'nginx:1' })]);
    expect(await connection.reported(1, 'failed')).toMatchObject({ message: 'No such image: nginx:1' });
  });
});

describe('failures', () => {
  test('a permanent failure of a start is reported with the message of the engine, and leaves no container', async () => {
    machine.engine.before = (call) => {
      if (call.startsWith('start')) throw new EngineError('permanent', 'executable file not found');
    };
    const connection = await machine.rig.peer.connection();
    connection.welcome([assignment()]);
    expect(await connection.reported(1, 'failed')).toMatchObject({
      temporary: false,
      message: 'executable file not found',
    });
    await eventually(() => machine.engine.containers.size === 0);
  });
  test('steps on an unreachable engine are retried, and nothing is reported as failed', async () => {
    machine.engine.before = (call) => {
      if (machine.engine.calls.filter((made) => made === call).length < 3)
        throw new EngineError('unreachable', 'refused');
    };
    const connection = await machine.rig.peer.connection();
    connection.welcome([assignment()]);
    await connection.reported(1, 'running');
    expect(connection.observations(1).map(({ state }) => state)).not.toContain('failed');
  });
  test('containers do not count as gone while the engine does not answer', async () => {
    const connection = await machine.rig.peer.connection();
    connection.welcome([assignment()]);
    await connection.reported(1, 'running');
    machine.engine.list = () => Promise.reject(new EngineError('unreachable', 'refused'));
    await expect(machine.rig.agent.refresh()).rejects.toThrow('refused');
    expect(machine.rig.agent.inventory()).toMatchObject([{ service: 1, state: 'running' }]);
  });
});
