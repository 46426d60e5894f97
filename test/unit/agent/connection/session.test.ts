import { beforeEach, expect, test } from 'vitest';
import { closeCodes } from '../../../../shared/protocol/close.ts';
import { PULSE } from '../../../../shared/protocol/pulse.ts';
import { PROTOCOL_HASH, PROTOCOL_VERSION } from '../../../../shared/protocol/version.ts';
import { AgentMachine } from '../../../support/agents/agent-machine.ts';
import { ControlPlanePeer, found } from '../../../support/agents/control-plane-peer.ts';
import { dial } from '../../../support/agents/dial.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { outputOf, target } from '../../../support/fixtures/targets.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let machine: AgentMachine;

beforeEach(() => {
  machine = new AgentMachine();
});

test('P2, P18: the agent sends the proof of its identity, and a hello with version, hash, deployment and host, and nothing else before the welcome', async () => {
  const connection = await machine.begin();
  expect(connection).toMatchObject({ path: '/agent/v1/connect', authorization: 'Bearer secret' });
  expect(await connection.hello()).toMatchObject({
    version: PROTOCOL_VERSION,
    hash: PROTOCOL_HASH,
    deployment: 'test',
    host: { name: 'node1' },
    inventory: [],
  });
  await machine.rig.agent.forget([1]);
  expect(connection.reports()).toEqual([]);
});
test('P2: an agent of another protocol is told how to install that of the control plane, and tries again while its containers run', async () => {
  const first = await machine.run();
  first.close(closeCodes.version.code, 'another protocol');
  const second = await machine.rig.peer.connection(2);
  second.close(closeCodes.version.code, 'another protocol');
  const third = await machine.rig.peer.connection(3);
  expect((await third.hello()).inventory).toMatchObject([{ service: 1, state: 'running' }]);
  const lines = machine.rig.log.filter((line) => line.includes('connection.closed'));
  expect(lines[0]).toMatch(/another protocol: curl -fsSL http:.*\/agent\/install\.sh \| sh/);
});
test('P3, P4, P7: a gap in the revisions, a second welcome and a message that cannot be parsed end the connection, and the agent dials again and reports what was not acknowledged', async () => {
  const connection = await machine.run();
  connection.send({ type: 'stop', revision: 2, service: 1, generation: 1 });
  const second = await machine.rig.peer.connection(2);
  await second.run([assignment()]);
  second.welcome([]);
  const third = await machine.rig.peer.connection(3);
  third.sendText('{"type":"unheard-of"}');
  await (await machine.rig.peer.connection(4)).hello();
  const codes = [connection, second, third].map(({ closeCode }) => closeCode);
  const { resync, badMessage } = closeCodes;
  expect(codes).toEqual([resync.code, badMessage.code, badMessage.code]);
});
test('P72: the agent waits a random part of the return period of the last welcome', async () => {
  const connection = await machine.begin({ random: () => 0.5 });
  connection.welcome([], { spreadMs: 600 });
  await eventually(() => machine.rig.log.some((line) => line.includes('session.synced')));
  connection.close(closeCodes.resync.code);
  (await machine.rig.peer.connection(2)).terminate();
  await machine.rig.peer.connection(3);
  const closed = machine.rig.log.filter((line) => line.includes('connection.closed'));
  expect(closed.map((line) => JSON.parse(line).waitMs)).toEqual([300, 250 + 300]);
});
test('P61: a peer that disappears silently is detected even if the clock was set back', async () => {
  const peer = await ControlPlanePeer.open();
  let nowMs = 1e12;
  const { stop, connected } = dial([peer.url], { nowMs: () => nowMs, pingMs: 10 });
  (await peer.connection()).freeze();
  nowMs -= 1e9;
  await peer.connection(2);
  stop.abort();
  await connected;
});
test('P319: an agent whose engine is not that of the host does not reconnect, and states the remedy', async () => {
  const close = [closeCodes.otherEngine.code, 'the services of host one are on the engine X'] as const;
  (await machine.begin()).close(...close);
  await expect(machine.rig.connected).rejects.toThrow(
    /on the engine X\. This is the engine fake\. .*BERTH_AGENT_ENGINE=fake/,
  );
});
test('an agent that is stopped closes its connection as one that goes away', async () => {
  const peer = await ControlPlanePeer.open();
  let [begun, ends] = [0, 0];
  const closed = () => void ends++;
  const begin = () => {
    begun += 1;
    return { receive: () => {}, closed };
  };
  const { stop, connected } = dial([peer.url], { begin });
  const connection = await peer.connection();
  await eventually(() => begun === 1);
  stop.abort();
  await connected;
  await eventually(() => connection.closeCode !== undefined);
  expect([connection.closeCode, ends]).toEqual([1001, 1]);
});
test('P18: an agent that is stopped while it makes its proof does not connect', async () => {
  const proof = Promise.withResolvers<Record<string, string>>();
  const peer = await ControlPlanePeer.open();
  const { stop, connected } = dial([peer.url], { identity: { headers: () => proof.promise } });
  stop.abort();
  proof.resolve({});
  await connected;
  expect(peer.connections).toEqual([]);
});

test('P13: an empty report is the sign of life', async () => {
  const connection = await machine.welcome([], { reportPeriodMs: 30 });
  await eventually(() => connection.reports().length >= 2);
  expect(connection.reports()[0]).toMatchObject({ observations: [], forgotten: [] });
});
test('P14: forgotten logs are removed and listed, that of an existing container after the container', async () => {
  await machine.run();
  await machine.rig.close();
  const mayStop = machine.engine.hold('stop');
  const connection = await machine.welcome([]);
  await eventually(() => machine.engine.calls.includes('stop c1'));
  connection.send({ type: 'forget', services: [1] });
  connection.send({ type: 'forget', services: [2] });
  const forgotten = () => connection.reports().flatMap((report) => report.forgotten);
  await eventually(() => forgotten().includes(2));
  expect(forgotten()).not.toContain(1);
  mayStop.resolve();
  await eventually(() => forgotten().includes(1));
  expect(machine.engine.containers.size).toBe(0);
  expect(await machine.rig.output.open(assignment())).toBeUndefined();
});

test('P179: an agent that is asked for pulses sends them instead of empty reports, and is not disturbed by the answers', async () => {
  const connection = await machine.run([assignment()], { pulseMs: 20, reportPeriodMs: 20 });
  const reports = connection.reports().length;
  const { pulses } = connection;
  for (let n = 0; n < 3; n++) connection.sendText(PULSE);
  await eventually(() => connection.pulses >= pulses + 5);
  expect(connection.reports().length).toBe(reports);
  expect(connection.closeCode).toBeUndefined();
});
test('P179: an agent that is asked for a report measures the usage first, and sends it with what was not acknowledged', async () => {
  const connection = await machine.run([assignment()], { pulseMs: 60_000 });
  connection.send({ type: 'report.request' });
  const last = await eventually(() => connection.reports().find(({ usage }) => usage !== undefined));
  expect(last?.observations).toMatchObject([{ service: 1, state: 'running' }]);
});

test('P251: bytes for a channel to output, which takes none, end the connection', async () => {
  const connection = await machine.run();
  connection.openOutput(1, { service: 1, generation: 1 });
  connection.sendChunk({ channel: 1, payload: new Uint8Array(1) });
  await eventually(() => expect(connection.closeCode).toBe(closeCodes.badMessage.code));
});
test('P310, C302: an agent that closes its connection for an expired lease gives no bytes of it to a channel any more', async () => {
  const leaseMs = 90_000;
  let uptimeMs = 1_000_000;
  const events: string[] = [];
  const over = Promise.withResolvers<void>();
  const silent = target({
    output: outputOf([], over.promise),
    write: async (bytes) => void events.push(new TextDecoder().decode(bytes)),
    destroy: () => {
      events.push('disconnected');
      over.resolve();
    },
  });
  const now = () => ({ uptimeMs, wallMs: uptimeMs });
  const connection = await new AgentMachine({ now, openTarget: async () => silent }).begin();
  connection.welcome([], { leaseMs });
  connection.send({
    ...{ type: 'channel.open', channel: 1, service: 1, generation: 1, credit: 1024 },
    target: { kind: 'tcp', port: 80 },
  });
  await found(() => connection.messages.find(({ type }) => type === 'channel.opened'));
  const send = (text: string) =>
    connection.sendChunk({ channel: 1, payload: new TextEncoder().encode(text) });
  send('before');
  await eventually(() => expect(events).toEqual(['before']));
  uptimeMs += leaseMs;
  // All three leave this side before the close of the agent arrives.
  for (const text of ['first', 'second', 'third']) send(text);
  await eventually(() => expect(events).toContain('disconnected'));
  expect(events).toEqual(['before', 'disconnected']);
});
