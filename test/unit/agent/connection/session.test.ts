import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RefusedError } from '../../../../agent/connection/refused-error.ts';
import { stayConnected } from '../../../../agent/connection/socket.ts';
import { EngineError } from '../../../../agent/engine/engine.ts';
import { closeCodes } from '../../../../shared/protocol/close.ts';
import { PROTOCOL_VERSION } from '../../../../shared/protocol/version.ts';
import { type AgentRig, agentRig, type RigOptions, scratchDir } from '../../../support/agents/agent-rig.ts';
import { ControlPlanePeer, type PeerConnection } from '../../../support/agents/control-plane-peer.ts';
import { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let scratch: Awaited<ReturnType<typeof scratchDir>>;
let engine: FakeEngine;
let rig: AgentRig;

beforeEach(async () => {
  scratch = await scratchDir();
  engine = new FakeEngine(`${scratch.path}/engine`);
  await begin();
});

afterEach(async () => {
  await rig.close();
  await scratch.remove();
});

async function begin(options: Partial<RigOptions> = {}): Promise<PeerConnection> {
  rig = await agentRig(engine, { dataDir: `${scratch.path}/data`, ...options });
  return rig.peer.connection();
}

/** Starts an agent with the same data folder, as after a crash. */
async function restart(options: Partial<RigOptions> = {}): Promise<PeerConnection> {
  await rig.close();
  return begin(options);
}

describe('connecting', () => {
  test('P18: the agent sends the proof of its identity', async () => {
    const connection = await rig.peer.connection();
    expect(connection).toMatchObject({ path: '/agent/v1/connect', authorization: 'Bearer secret' });
  });
  test('P2: hello is the first message, with version, deployment and host', async () => {
    const connection = await rig.peer.connection();
    expect(await connection.hello()).toMatchObject({
      version: PROTOCOL_VERSION,
      deployment: 'test',
      host: { name: 'node1' },
      inventory: [],
    });
  });
  test('P2: hello lists every container of the deployment', async () => {
    const first = await rig.peer.connection();
    first.welcome([assignment()]);
    const running = await first.reported(1, 'running');
    const second = await restart();
    expect((await second.hello()).inventory).toEqual([running]);
  });
  test('P2: hello lists a failed start whose container is already gone', async () => {
    engine.before = (call) => {
      if (call.startsWith('start')) throw new EngineError('permanent', 'port is taken');
    };
    const first = await rig.peer.connection();
    first.welcome([assignment()]);
    const failed = await first.reported(1, 'failed');
    await eventually(() => engine.containers.size === 0);
    first.terminate();
    const second = await rig.peer.connection(2);
    expect((await second.hello()).inventory).toEqual([failed]);
  });
  test('the agent sends nothing but hello before the welcome', async () => {
    const connection = await rig.peer.connection();
    await connection.hello();
    await rig.agent.forget([1]);
    expect(connection.reports()).toEqual([]);
  });
  test('P4: the agent closes with 4000 on a gap in the revisions, and sends a new hello', async () => {
    const connection = await rig.peer.connection();
    connection.welcome();
    connection.send({ type: 'stop', revision: 2, service: 1, generation: 1 });
    await (await rig.peer.connection(2)).hello();
    expect(connection.closeCode).toBe(closeCodes.resync.code);
  });
  test('the agent closes with 4400 on a message that it cannot parse', async () => {
    const connection = await rig.peer.connection();
    connection.sendText('{"type":"unheard-of"}');
    await eventually(() => connection.closeCode === closeCodes.badMessage.code);
  });
  test('the agent dials again after a lost connection', async () => {
    (await rig.peer.connection()).terminate();
    await (await rig.peer.connection(2)).hello();
  });
  test('P72: the agent waits a random part of the return period of the last welcome', async () => {
    const connection = await restart({ random: () => 0.5 });
    connection.welcome([], { spreadMs: 600 });
    await eventually(() => rig.log.some((line) => line.includes('session.synced')));
    connection.close(closeCodes.resync.code);
    (await rig.peer.connection(2)).terminate();
    await rig.peer.connection(3);
    const closed = rig.log.filter((line) => line.includes('connection.closed'));
    expect(closed.map((line) => JSON.parse(line).waitMs)).toEqual([300, 250 + 300]);
  });
  test('P61: a peer that disappears silently is detected even if the clock was set back', async () => {
    const peer = await ControlPlanePeer.open();
    const stop = new AbortController();
    let nowMs = 1e12;
    const connected = stayConnected({
      url: peer.url,
      identity: { headers: async () => ({}) },
      begin: () => ({ receive: () => {}, closed: () => {} }),
      log: () => {},
      nowMs: () => nowMs,
      random: () => 0,
      pingMs: 10,
      signal: stop.signal,
    });
    (await peer.connection()).freeze();
    nowMs -= 1e9;
    await peer.connection(2);
    stop.abort();
    await connected;
    peer.close();
  });
  test('P11: a superseded agent does not reconnect', async () => {
    (await rig.peer.connection()).close(closeCodes.superseded.code);
    await expect(rig.connected).rejects.toThrow(RefusedError);
  });
  test('a peer that disappears silently is detected', async () => {
    const connection = await restart({ pingMs: 20 });
    await connection.hello();
    connection.freeze();
    await (await rig.peer.connection(2)).hello();
  });
  test('a peer that disappears silently is detected even if the clock is set back meanwhile', async () => {
    const connection = await restart({ pingMs: 20, socketNowMs: () => 0 });
    await connection.hello();
    connection.freeze();
    await (await rig.peer.connection(2)).hello();
  });
  test('P18: an agent that is stopped while it makes its proof does not connect', async () => {
    const proof = Promise.withResolvers<Record<string, string>>();
    const stop = new AbortController();
    const peer = await ControlPlanePeer.open();
    const connected = stayConnected({
      url: peer.url,
      identity: { headers: () => proof.promise },
      begin: () => ({ receive: () => {}, closed: () => {} }),
      log: () => {},
      nowMs: Date.now,
      random: () => 0,
      pingMs: 60_000,
      signal: stop.signal,
    });
    stop.abort();
    proof.resolve({});
    await connected;
    expect(peer.connections).toEqual([]);
    peer.close();
  });
});

describe('running services', () => {
  test('P3: nothing is removed before the last part of the sync', async () => {
    const first = await rig.peer.connection();
    first.welcome([assignment()]);
    await first.reported(1, 'running');
    const second = await restart();
    second.send({ type: 'welcome', version: 1, session: 's', reportPeriodMs: 60_000, timeMs: Date.now() });
    second.send({ type: 'sync', revision: 0, assignments: [], more: true });
    second.send({ type: 'sync', revision: 0, assignments: [assignment()], more: false });
    await eventually(() => rig.log.some((line) => line.includes('session.synced')));
    expect(engine.calls).toEqual(['create 1.1', 'start 1.1']);
  });
  test('P5: a repeated assignment starts nothing', async () => {
    const connection = await rig.peer.connection();
    connection.welcome();
    connection.start(assignment());
    await connection.reported(1, 'running');
    connection.start(assignment());
    connection.start(assignment({ service: 2 }));
    await connection.reported(2, 'running');
    expect(engine.calls.filter((call) => call === 'create 1.1')).toHaveLength(1);
  });
  test('P5: a container that is missing from the sync is stopped, removed and reported as gone', async () => {
    const first = await rig.peer.connection();
    first.welcome([assignment()]);
    await first.reported(1, 'running');
    const second = await restart();
    second.welcome([]);
    await second.reported(1, 'gone');
    expect(engine.calls.slice(2)).toEqual(['stop c1', 'remove c1']);
  });
  test('P5: a key whose container was removed while no agent ran is gone and not started again', async () => {
    const first = await rig.peer.connection();
    first.welcome([assignment()]);
    await first.reported(1, 'running');
    await rig.close();
    engine.containers.clear();
    const second = await begin();
    second.welcome([assignment()]);
    await second.reported(1, 'gone');
    expect(engine.calls).toEqual(['create 1.1', 'start 1.1']);
  });
  test('P5: a key is not started again if the agent was killed before the answer to its start and the container was removed since', async () => {
    const connection = await rig.peer.connection();
    // The answer never arrives, and the agent is killed.
    engine.before = (call) => (call === 'start 1.1' ? new Promise(() => {}) : undefined);
    connection.welcome([assignment()]);
    await eventually(() => engine.calls.includes('start 1.1'));
    engine.containers.clear();
    const second = await restart();
    second.welcome([assignment()]);
    await second.reported(1, 'gone');
    expect(engine.calls).toEqual(['create 1.1', 'start 1.1']);
  });
  test('P5: a failed start leaves no mark, so that the next agent finds the failure and not a container that is gone', async () => {
    const connection = await rig.peer.connection();
    engine.before = (call) => {
      if (call === 'start 1.1') throw new EngineError('permanent', 'no such command');
    };
    connection.welcome([assignment()]);
    await connection.reported(1, 'failed');
    expect(rig.output.wasStarted(assignment())).toBe(false);
  });
  test('P5: a start that failed temporarily leaves its mark, because the container may have run', async () => {
    const connection = await rig.peer.connection();
    engine.before = (call) => {
      if (call === 'start 1.1') throw new EngineError('temporary', 'Server Error');
    };
    connection.welcome([assignment()]);
    await connection.reported(1, 'failed');
    expect(rig.output.wasStarted(assignment())).toBe(true);
  });
  test('a container whose output cannot be preserved yet continues to run, and its output is preserved later', async () => {
    const connection = await rig.peer.connection();
    const preserve = rig.output.preserve.bind(rig.output);
    let failures = 2;
    rig.output.preserve = async (container) => {
      if (failures-- > 0) throw new Error('no space left on device');
      return preserve(container);
    };
    connection.welcome([assignment()]);
    await connection.reported(1, 'running');
    await eventually(async () => {
      await rig.agent.refresh();
      return rig.output.stateOf('c1') !== 'unknown';
    });
    expect(engine.calls).toEqual(['create 1.1', 'start 1.1']);
  });
  test('P60: nothing is left of a vanished container once its gone is acknowledged', async () => {
    const connection = await rig.peer.connection();
    connection.welcome([assignment()]);
    await connection.reported(1, 'running');
    expect(rig.output.wasStarted(assignment())).toBe(true);
    engine.vanish('c1');
    await connection.reported(1, 'gone');
    connection.send({ type: 'ack', sequence: connection.reports().at(-1)?.sequence ?? 0 });
    await eventually(() => !rig.output.wasStarted(assignment()));
    expect(rig.agent.isKnown(1)).toBe(false);
    await rig.agent.refresh();
    expect(connection.observations(1).filter(({ state }) => state === 'gone')).toHaveLength(1);
  });
  test('P5, P60: a key whose container was removed is not started again before its gone is acknowledged', async () => {
    const connection = await rig.peer.connection();
    connection.welcome();
    // Created by another agent on the machine, whose control plane has progressed further.
    await engine.create(assignment(), 1);
    await engine.start(assignment(), 'c1', 1, true);
    await rig.agent.refresh();
    await connection.reported(1, 'gone');
    connection.start(assignment());
    connection.start(assignment({ service: 2 }));
    await connection.reported(2, 'running');
    expect(engine.calls.filter((call) => call === 'create 1.1')).toHaveLength(1);
  });
  test('P5: a key that was reported as gone does not start when a restored database requests it again', async () => {
    const connection = await rig.peer.connection();
    connection.welcome();
    connection.stop({ service: 9, generation: 4 });
    await connection.reported(9, 'gone');
    const second = await rig.peer.connection();
    second.start(assignment({ service: 9, generation: 4 }));
    second.start(assignment({ service: 2 }));
    await second.reported(2, 'running');
    expect(engine.calls).toEqual(['create 2.1', 'start 2.1']);
  });
  test('P5: a container that a person removes is gone and not started again', async () => {
    const connection = await rig.peer.connection();
    connection.welcome([assignment()]);
    await connection.reported(1, 'running');
    engine.vanish('c1');
    await connection.reported(1, 'gone');
    expect(engine.calls).toEqual(['create 1.1', 'start 1.1']);
  });
  test('P5, P114: a container whose start the engine has forgotten starts again, and is not replaced', async () => {
    const connection = await rig.peer.connection();
    connection.welcome([assignment()]);
    await connection.reported(1, 'running');
    const running = engine.containers.get('c1');
    if (running) engine.containers.set('c1', { ...running, state: 'created' });
    await rig.agent.refresh();
    await eventually(() => engine.mayReplace.length === 2);
    expect(engine.calls).toEqual(['create 1.1', 'start 1.1', 'start 1.1']);
    expect(engine.mayReplace).toEqual([true, false]);
  });
  test('the end of a container is reported with its exit code', async () => {
    const connection = await rig.peer.connection();
    connection.welcome([assignment()]);
    await connection.reported(1, 'running');
    engine.exit('c1', 3);
    expect(await connection.reported(1, 'exited')).toMatchObject({ exitCode: 3 });
  });
  test('a stop of an unknown key is answered with gone', async () => {
    const connection = await rig.peer.connection();
    connection.welcome();
    connection.stop({ service: 9, generation: 4 });
    expect(await connection.reported(9, 'gone')).toMatchObject({ generation: 4 });
  });
  test('a new generation starts only after the old container is gone', async () => {
    const connection = await rig.peer.connection();
    connection.welcome([assignment()]);
    await connection.reported(1, 'running');
    connection.start(assignment({ generation: 2 }));
    await eventually(() => engine.calls.includes('start 1.2'));
    expect(engine.calls.slice(2)).toEqual(['stop c1', 'remove c1', 'create 1.2', 'start 1.2']);
  });
  test('a stop during a start lets the start finish, and then removes the container', async () => {
    const started = Promise.withResolvers<void>();
    engine.before = (call) => (call.startsWith('start') ? started.promise : undefined);
    const connection = await rig.peer.connection();
    connection.welcome([assignment()]);
    await eventually(() => engine.calls.includes('start 1.1'));
    connection.stop(assignment());
    started.resolve();
    await connection.reported(1, 'gone');
    expect(engine.containers.size).toBe(0);
  });
  test('a missing image is pulled, and its progress is reported', async () => {
    const pulled = Promise.withResolvers<void>();
    engine.before = (call) => (call.startsWith('pull') ? pulled.promise : undefined);
    const connection = await rig.peer.connection();
    connection.welcome([assignment({ image: 'nginx:1' })]);
    expect(await connection.reported(1, 'preparing')).toMatchObject({ detail: 'pulling nginx:1' });
    pulled.resolve();
    await connection.reported(1, 'running');
  });
  test('a start fails if its image is still missing after the pull', async () => {
    const connection = await rig.peer.connection();
    engine.pull = async () => {};
    connection.welcome([assignment({ image: 'nginx:1' })]);
    expect(await connection.reported(1, 'failed')).toMatchObject({ message: 'No such image: nginx:1' });
  });
});

describe('failures', () => {
  test('a permanent failure of a start is reported with the message of the engine, and leaves no container', async () => {
    engine.before = (call) => {
      if (call.startsWith('start')) throw new EngineError('permanent', 'executable file not found');
    };
    const connection = await rig.peer.connection();
    connection.welcome([assignment()]);
    expect(await connection.reported(1, 'failed')).toMatchObject({
      temporary: false,
      message: 'executable file not found',
    });
    await eventually(() => engine.containers.size === 0);
  });
  test('steps on an unreachable engine are retried, and nothing is reported as failed', async () => {
    engine.before = (call) => {
      if (engine.calls.filter((made) => made === call).length < 3)
        throw new EngineError('unreachable', 'refused');
    };
    const connection = await rig.peer.connection();
    connection.welcome([assignment()]);
    await connection.reported(1, 'running');
    expect(connection.observations(1).map(({ state }) => state)).not.toContain('failed');
  });
  test('containers do not count as gone while the engine does not answer', async () => {
    const connection = await rig.peer.connection();
    connection.welcome([assignment()]);
    await connection.reported(1, 'running');
    engine.list = () => Promise.reject(new EngineError('unreachable', 'refused'));
    await expect(rig.agent.refresh()).rejects.toThrow('refused');
    expect(rig.agent.inventory()).toMatchObject([{ service: 1, state: 'running' }]);
  });
});

describe('reports', () => {
  test('P7: an unacknowledged observation is reported again on the next connection', async () => {
    const first = await rig.peer.connection();
    first.welcome([assignment()]);
    await first.reported(1, 'running');
    first.terminate();
    const second = await rig.peer.connection(2);
    second.welcome([assignment()]);
    await second.reported(1, 'running');
  });
  test('P13: an empty report is the sign of life', async () => {
    const connection = await rig.peer.connection();
    connection.welcome([], { reportPeriodMs: 30 });
    await eventually(() => connection.reports().length >= 2);
    expect(connection.reports()[0]).toMatchObject({ observations: [], forgotten: [] });
  });
  test('P14: forgotten logs are removed and listed', async () => {
    const connection = await rig.peer.connection();
    connection.welcome([assignment()]);
    await connection.reported(1, 'running');
    connection.stop(assignment());
    await connection.reported(1, 'gone');
    connection.send({ type: 'forget', services: [1] });
    await eventually(() => connection.reports().some(({ forgotten }) => forgotten.includes(1)));
    expect(await rig.output.open(assignment())).toBeUndefined();
  });
  test('P14: a forgotten log of an existing container is removed after the container', async () => {
    const first = await rig.peer.connection();
    first.welcome([assignment()]);
    await first.reported(1, 'running');
    await rig.close();
    const mayStop = Promise.withResolvers<void>();
    engine.before = (call) => (call.startsWith('stop') ? mayStop.promise : undefined);
    const connection = await begin();
    connection.welcome();
    await eventually(() => engine.calls.includes('stop c1'));
    connection.send({ type: 'forget', services: [1] });
    connection.send({ type: 'forget', services: [2] });
    const forgotten = () => connection.reports().flatMap((report) => report.forgotten);
    await eventually(() => forgotten().includes(2));
    expect(forgotten()).not.toContain(1);
    mayStop.resolve();
    await eventually(() => forgotten().includes(1));
    expect(engine.containers.size).toBe(0);
    expect(await rig.output.open(assignment())).toBeUndefined();
  });
});
