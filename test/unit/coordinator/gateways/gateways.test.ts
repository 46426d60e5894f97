import { beforeEach, expect, test } from 'vitest';
import { noTraffic } from '../../../../control-plane/coordinator/connections/traffic.ts';
import { gatewayOf } from '../../../../control-plane/coordinator/gateways/gateway-of.ts';
import { newEntries } from '../../../../control-plane/coordinator/gateways/portion.ts';
import { newHost } from '../../../../control-plane/core/model/host.ts';
import { insertHost } from '../../../../control-plane/store/cluster/host-rows.ts';
import { WINDOW_BYTES } from '../../../../shared/streams/targets.ts';
import { HOST_ID, owner, seen } from '../../../support/rigs/coordinator-rig.ts';
import { exited, running } from '../../../support/rigs/core-rig.ts';
import { type GatewayAgent, GatewayRig, HOLD_MS } from '../../../support/rigs/gateway-rig.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let rig: GatewayRig;
beforeEach(async () => {
  rig = await GatewayRig.open();
});

const KEY = { service: 1, generation: 1 };
/** Passes the output of a start to a reader that only counts. */
async function passLog({ id }: GatewayAgent) {
  const target = { kind: 'output', offset: 0, format: 'raw' } as const;
  const request = { at: { connection: id, sent: 0 }, key: KEY, target, credit: WINDOW_BYTES };
  const passed = await rig.gateway.pass(request, () => ({ send: () => {}, close: () => {} }));
  if (!passed || passed === 'full') throw new Error('the channel was not opened');
  return passed;
}
/** Agents of two hosts. */
async function twoAgents(): Promise<[GatewayAgent, GatewayAgent]> {
  await rig.rig.memory.batch([insertHost(newHost(2, 'two', 0))]);
  rig.restartCoordinator();
  return [await rig.agent(1).join(), await rig.agent(2, 'two').join()];
}

test('P170: hosts that were registered one after the other share a gateway, and none has more than its number', () => {
  const gateways = Array.from({ length: 250 }, (_, at) => gatewayOf(at + 1, 100));
  expect(Object.values(Object.groupBy(gateways, String)).map((one) => one?.length)).toEqual([100, 100, 50]);
  expect([gatewayOf(1, 1), gatewayOf(2, 1)]).toEqual([0, 1]);
});

test('P171: of the entries of a portion only those count that have not arrived, and none if others are missing', () => {
  const portion = { connection: 'c', first: 3, entries: ['d', 'e', 'f'] };
  expect(newEntries(portion, 3)).toEqual(['d', 'e', 'f']);
  expect(newEntries(portion, 5)).toEqual(['f']);
  expect(newEntries(portion, 9)).toEqual([]);
  expect(newEntries(portion, 2)).toBeUndefined();
});

test('P171: a batch whose answer is lost is sent again, and its messages count once in both directions', async () => {
  rig.fates.up.push('answer lost');
  rig.fates.down.push('answer lost');
  const agent = rig.agent();
  agent.hello();
  await agent.received('sync');
  await rig.later(() => rig.calls.length >= 4);
  agent.report();
  await rig.later(() => agent.acknowledged.length > 0);
  expect(agent.socket.closeCode).toBeUndefined();
  expect(agent.socket.sent.map(({ type }) => type)).toEqual(['welcome', 'sync', 'ack']);
});

test('P177: reports that only show that their agents live share a call, within a fifth of the report period', async () => {
  const [one, two] = await twoAgents();
  const before = rig.calls.length;
  one.signOfLife();
  two.signOfLife();
  rig.rig.clock.pass(HOLD_MS - 1);
  await rig.rig.coordinator.state();
  expect(rig.calls.length).toBe(before);
  rig.rig.clock.pass(1);
  await eventually(() => one.acknowledged.length + two.acknowledged.length === 2);
  expect(rig.calls.slice(before).map(({ direction }) => direction)).toEqual(['up', 'down']);
});

test('P177: any other message is sent at once, after the signs of life that wait', async () => {
  const { agent, assignment } = await rig.starts();
  agent.signOfLife();
  agent.report([seen(assignment, running)]);
  await eventually(() => agent.acknowledged.length > 0);
  expect(agent.acknowledged).toEqual([2]);
  // Another condition of the host is news.
  agent.report();
  await eventually(() => agent.acknowledged.length > 1);
  expect(agent.acknowledged).toEqual([2, 3]);
  // So is its swarm, also alone.
  agent.reportWith({ swarm: { node: 'n', isManager: true, managers: ['n'] } });
  await eventually(() => agent.acknowledged.length > 2);
});

test('P171: a batch of a connection that has ended, arriving late, begins no session', async () => {
  const agent = await rig.agent().join();
  const hello = rig.calls.find(({ direction }) => direction === 'up');
  agent.connection.closed();
  await eventually(() => rig.rig.logged.some((line) => line.startsWith('agent.disconnected')));
  const next = await rig.agent().join();
  expect(hello?.again()).toEqual([agent.id]);
  await rig.rig.coordinator.state();
  expect(next.socket.closeCode).toBeUndefined();
});

test('P172: a connection whose messages are missing at the coordinator ends with 4000, and no other does', async () => {
  const [one, two] = await twoAgents();
  expect(rig.links.up([{ connection: one.id, first: 5, entries: [] }], noTraffic())).toEqual([one.id]);
  one.report();
  two.report();
  await two.received('ack');
  expect([await one.socket.closed(), two.socket.closeCode]).toEqual([4000, undefined]);
});

test('P172: a connection whose messages are missing at the gateway ends with 4000, and the coordinator learns of it', async () => {
  const agent = await rig.agent().join();
  const portion = { connection: agent.id, first: 100, entries: ['{}'] };
  expect(rig.gateway.down('life-1', [portion])).toEqual([agent.id]);
  expect(agent.socket.closeCode).toBe(4000);
  agent.report();
  await rig.agent().join();
});

test('P172, P173: a gateway that does not answer is told until it does that its connections are over, and the coordinator does not sleep before', async () => {
  const old = await rig.agent().join();
  rig.restartCoordinator();
  rig.fates.down.push('hangs', 'answer lost', 'hangs', 'hangs');
  rig.links.greet([0, 0]);
  expect(rig.links.saved()).toBeUndefined();
  await rig.later(() => rig.fates.down.length === 0);
  await rig.later(() => rig.links.saved() !== undefined);
  expect(old.socket.closeCode).toBe(4000);
  expect(rig.logged.filter((line) => line.startsWith('gateway.call-failed'))).toHaveLength(4);
});

test('P172: an agent whose coordinator has restarted finds out with its next message at the latest', async () => {
  const old = await rig.agent().join();
  rig.restartCoordinator();
  old.report();
  expect([await old.socket.closed(), old.acknowledged]).toEqual([4000, []]);
});

test('P172: a connection that sends nothing within a minute of its admission is forgotten, and no other', async () => {
  const [silent, joined] = [rig.agent(), await rig.agent().join()];
  expect(rig.links.connections).toBe(2);
  rig.rig.clock.pass(60_000);
  expect(rig.links.connections).toBe(1);
  silent.hello();
  joined.report();
  await joined.received('ack');
  expect([await silent.socket.closed(), joined.socket.closeCode]).toEqual([4000, undefined]);
});

test('P173: calls that go on failing end the connections whose messages they carry, and later ones work', async () => {
  const agent = await rig.agent().join();
  rig.fates.up.push('hangs', 'hangs', 'hangs');
  agent.report();
  await rig.later(() => agent.socket.closeCode !== undefined);
  expect(agent.socket.closeCode).toBe(4000);
  await rig.agent().join();
  expect(rig.logged.filter((line) => line.startsWith('gateway.call-failed'))).toHaveLength(3);
});

test('H452, P174: output goes from the gateway to its reader, nothing of it to the coordinator, and the coordinator counts it', async () => {
  const { agent, assignment } = await rig.runs();
  const calls = rig.calls.length;
  const stream = await rig.openLog(owner, assignment.service, 'raw');
  await agent.sendLog('some output');
  const { value } = await stream.getReader().read();
  expect(new TextDecoder().decode(value)).toBe('some output');
  expect(rig.calls.length).toBe(calls);
  expect(rig.rig.coordinator.agents.traffic.bytes).toBe(0);
  agent.report([seen(assignment, exited(0))]);
  await eventually(() => rig.rig.coordinator.agents.traffic.bytes > 0);
  expect(rig.rig.coordinator.agents.traffic.bytes).toBe('some output'.length);
});

test('P174: a log is opened only after the start has arrived that the coordinator sent before', async () => {
  const agent = await rig.agent().join();
  rig.fates.down.push('hangs');
  await rig.rig.submit();
  await eventually(() => rig.fates.down.length === 0);
  const [{ id = 0 } = {}] = await rig.rig.memory.query('SELECT id FROM services');
  const log = rig.openLog(owner, Number(id), 'raw');
  await rig.rig.coordinator.state();
  expect(agent.socket.all('channel.open')).toEqual([]);
  await rig.later(() => agent.socket.all('start').length > 0);
  await agent.sendLog('its first line');
  const { value } = await (await log).getReader().read();
  expect(new TextDecoder().decode(value)).toBe('its first line');
  const types = agent.socket.sent.map(({ type }) => type).filter((type) => type !== 'ack');
  expect(types).toEqual(['welcome', 'sync', 'start', 'channel.open']);
});

test('P174: a reader who loses access gets no more, and the channel ends at the host', async () => {
  const { agent, assignment } = await rig.starts();
  const stream = await rig.openLog(owner, assignment.service, 'raw');
  await agent.received('channel.open');
  await rig.rig.memory.query('UPDATE users SET credential_version = credential_version + 1');
  await rig.rig.coordinator.reviewSubscriptions(null);
  await expect(stream.getReader().read()).rejects.toThrow('permissions have changed');
  await agent.received('channel.reset');
});

test('P178: while many logs are read through a gateway, all its agents collect output for longer, and no longer than that', async () => {
  const [one, two] = await twoAgents();
  const collected = ({ socket }: GatewayAgent) => socket.all('collect').map(({ ms }) => ms);
  await passLog(one);
  const others = [];
  for (let open = 2; open <= 100; open++) {
    others.push(await passLog(two));
    if (open === 10) expect(collected(two)).toEqual([]);
    if (open === 11) expect(collected(two)).toEqual([40]);
  }
  expect([collected(two).at(-1), collected(one)]).toEqual([200, []]);
  one.sendPart('some output');
  expect(collected(one)).toEqual([200]);
  for (const other of others) other.closed();
  one.sendPart('more');
  expect(collected(one)).toEqual([200, 0]);
  await passLog(two);
  expect(collected(two).at(-1)).toBe(0);
});

test('P178: logs of a connection that has ended no longer count', async () => {
  const [one, other] = [await rig.agent(1).join(), rig.agent(1)];
  for (let n = 0; n < 50; n++) await passLog(one);
  one.connection.closed();
  await passLog(other);
  expect(other.socket.all('collect')).toEqual([]);
});

test('P175: an agent whose messages exceed what may wait for the coordinator is disconnected with 4503, and nothing of it waits', async () => {
  rig = await GatewayRig.open(2_000);
  const agent = await rig.agent().join();
  rig.fates.up.push('hangs');
  for (let n = 0; n < 100; n++) agent.report();
  expect(agent.socket.closeCode).toBe(4503);
  await rig.later(() => rig.fates.up.length === 0);
  const next = rig.agent();
  next.hello();
  await rig.later(() => next.socket.all('sync').length > 0);
});

test('P175: a host for which more waits at the coordinator than may wait is disconnected with 4503', async () => {
  rig = await GatewayRig.open(1_000);
  const agent = await rig.agent().join();
  rig.fates.down.push('hangs');
  for (let n = 0; n < 20; n++) agent.report();
  await rig.later(() => agent.socket.closeCode !== undefined);
  expect(agent.socket.closeCode).toBe(4503);
});

test('P176: a gateway that has slept goes on with its connections, without a hello', async () => {
  const { agent, assignment } = await rig.runs();
  await eventually(() => agent.state?.delivered === agent.state?.up);
  rig.sleep(agent);
  agent.report([seen(assignment, exited(0))]);
  await eventually(() => agent.acknowledged.length === 2);
  expect([agent.socket.closeCode, agent.socket.all('welcome').length]).toEqual([undefined, 1]);
});

test('P176: a gateway that has lost a message with its memory ends that connection with 4000', async () => {
  const agent = await rig.agent().join();
  rig.fates.up.push('hangs');
  agent.report();
  await eventually(() => rig.fates.up.length === 0);
  rig.sleep(agent);
  expect([agent.socket.closeCode, agent.acknowledged]).toEqual([4000, []]);
  await rig.agent().join();
});

test('C231: a proof that a remembered key has verified counts only if the coordinator has that key for the host', async () => {
  const proof = { hostId: HOST_ID, proofId: 'p', expiresMs: Number.MAX_SAFE_INTEGER, rememberedKey: 'K' };
  const admit = () => rig.links.admit(0, { ...proof, proofId: crypto.randomUUID() });
  const refused = expect.objectContaining({ code: 'unknown-host' });
  expect(admit).toThrow(refused);
  await rig.rig.memory.query("UPDATE hosts SET public_key = 'K' WHERE id = 1");
  rig.restartCoordinator();
  expect(admit).toThrow(refused);
  await rig.rig.coordinator.ready();
  expect(admit).not.toThrow();
  rig.links.admit(0, { ...proof, proofId: 'q', rememberedKey: 'K' });
  expect(() => rig.links.admit(0, { ...proof, proofId: 'r', rememberedKey: 'L' })).toThrow(refused);
});
