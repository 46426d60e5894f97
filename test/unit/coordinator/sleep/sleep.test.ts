/** Pulses, silent agents, and a coordinator that sleeps, with a gateway whose calls a test controls. */
import { beforeEach, expect, test } from 'vitest';
import { newHost } from '../../../../control-plane/core/model/host.ts';
import { defaultSchedulerConfig } from '../../../../control-plane/core/model/scheduler-config.ts';
import { takeOver } from '../../../../control-plane/store/cluster/cluster-rows.ts';
import { insertHost } from '../../../../control-plane/store/cluster/host-rows.ts';
import { outdateCoordinator } from '../../../../control-plane/store/db/epoch.ts';
import { everything } from '../../../support/clients/frame-reader.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import { codeOf, HOST_ID, seen } from '../../../support/rigs/coordinator-rig.ts';
import { exited, gone, running } from '../../../support/rigs/core-rig.ts';
import { type GatewayAgent, GatewayRig, LOST_AFTER_MS } from '../../../support/rigs/gateway-rig.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let rig: GatewayRig;
beforeEach(async () => {
  rig = await GatewayRig.open();
});

const nowMs = () => rig.rig.clock.nowMs();

function pulse(...agents: GatewayAgent[]): void {
  for (const agent of agents) agent.pulsedMs = nowMs();
}

const hostRow = async (id = HOST_ID) =>
  (await rig.rig.memory.query('SELECT lost, silent_since_ms FROM hosts WHERE id = ?', [id]))[0];

test('P179: an agent at a gateway is asked for pulses, one with a lease for reports', async () => {
  const agent = await rig.agent().join();
  expect((await agent.received('welcome')).pulseMs).toBe(10_000);
  rig = await GatewayRig.open(2 ** 25, { hostLossPolicy: 'requeue' });
  const leased = await (await rig.agent().join()).received('welcome');
  expect([leased.pulseMs, leased.leaseMs]).toEqual([undefined, 90_000]);
});

test('P180: the connection of an agent without a sign of life ends, and its host is lost at once', async () => {
  const agent = await rig.agent().join();
  expect(rig.gateway.endSilent()).toBe(nowMs() + LOST_AFTER_MS);
  rig.rig.clock.pass(60_000);
  pulse(agent);
  rig.rig.clock.pass(LOST_AFTER_MS - 1);
  expect(rig.gateway.endSilent()).toBe(nowMs() + 1);
  expect(agent.socket.closeCode).toBeUndefined();
  rig.rig.clock.pass(1);
  expect(rig.gateway.endSilent()).toBeNull();
  expect(agent.socket.closeCode).toBe(4000);
  await eventually(async () => (await hostRow())?.lost === 1);
});

test('P180: while its gateway watches an agent, the coordinator waits for no sign of life, and has no deadline for it', async () => {
  const agent = await rig.agent().join();
  for (let minutes = 0; minutes < 30; minutes++) {
    pulse(agent);
    rig.rig.pass(60_000);
    await rig.rig.coordinator.ready();
  }
  await rig.rig.coordinator.summary();
  expect(await hostRow()).toEqual({ lost: 0, silent_since_ms: null });
  // Only the next review of the history is due.
  await rig.later(() => (rig.rig.clock.alarmMs ?? 0) - nowMs() > LOST_AFTER_MS);
});

test('P180: the silence of a disconnected host counts from its last pulse', async () => {
  const agent = await rig.agent().join();
  rig.rig.clock.pass(40_000);
  pulse(agent);
  const pulsedMs = nowMs();
  rig.rig.clock.pass(7_000);
  agent.connection.closed();
  await eventually(async () => (await hostRow())?.silent_since_ms === pulsedMs);
});

test('P180: a gateway that ran too late, and one whose clock was set back, begins the silence anew', async () => {
  const agent = await rig.agent().join();
  rig.rig.clock.pass(10 * LOST_AFTER_MS);
  expect(rig.gateway.endSilent()).toBe(nowMs() + LOST_AFTER_MS);
  agent.pulsedMs = nowMs() + 3_600_000;
  expect(rig.gateway.endSilent()).toBe(nowMs() + LOST_AFTER_MS);
  expect(agent.socket.closeCode).toBeUndefined();
  rig.rig.clock.pass(LOST_AFTER_MS);
  rig.gateway.endSilent();
  expect(agent.socket.closeCode).toBe(4000);
});

test('P180: the coordinator learns of connections that ended with their gateway', async () => {
  const agent = await rig.agent().join();
  // Killed: it gets no sockets back.
  rig.sleep();
  expect([...rig.stored]).toEqual([agent.id]);
  rig.gateway.missing(agent.id);
  await eventually(() => rig.stored.size === 0);
  await eventually(async () => (await hostRow())?.silent_since_ms === nowMs());
});

test('P180: an end that the coordinator could not be told is told again', async () => {
  const agent = await rig.agent().join();
  rig.fates.up.push('hangs', 'hangs', 'hangs');
  agent.connection.closed();
  await rig.later(() => rig.logged.some((line) => line.includes('"attempt":3')));
  expect([...rig.stored]).toEqual([agent.id]);
  rig.gateway.missing(agent.id);
  await eventually(() => rig.stored.size === 0);
});

test('P173: a gateway that could not be reached is told until it answers that a connection has ended', async () => {
  const agent = await rig.agent().join();
  rig.fates.down.push('hangs', 'hangs', 'hangs', 'hangs', 'hangs', 'hangs');
  await rig.rig.submit();
  await rig.later(() => agent.socket.closeCode !== undefined);
  expect(agent.socket.closeCode).toBe(4000);
  expect(rig.fates.down).toEqual([]);
});

test('C232: a coordinator that has slept goes on with its agents, in the next epoch, without a hello', async () => {
  const agent = await rig.agent().join();
  const conditions = [{ kind: 'clock-skew', text: 'it is 9 s ahead' }];
  agent.reportWith({ conditions, usage: { memoryBytes: 5, cores: 1 } });
  await agent.received('ack');
  await rig.sleepCoordinator();
  const id = await rig.rig.submit();
  const { assignment, revision } = await agent.received('start');
  expect(revision).toBe(2);
  const [host] = await rig.rig.coordinator.hosts();
  expect(host).toMatchObject({ connected: true, conditions: [{ kind: 'clock-skew' }], usage: { cores: 1 } });
  agent.report([seen(assignment, running)]);
  await eventually(async () => (await rig.rig.statusOf(id)) === 'running');
  await rig.sleepCoordinator();
  await rig.rig.submit();
  await eventually(() => agent.socket.all('start').length === 2);
  await rig.sleepCoordinator();
  agent.report([seen(assignment, exited(0))]);
  await eventually(async () => (await rig.rig.statusOf(id)) !== 'running');
  expect([agent.socket.closeCode, agent.socket.all('welcome').length]).toEqual([undefined, 1]);
  expect(await rig.rig.memory.query('SELECT epoch FROM coordinator')).toEqual([{ epoch: 4 }]);
});

test('C232: a host that died while the coordinator slept is lost when its gateway tells', async () => {
  await rig.agent().join();
  await rig.sleepCoordinator();
  rig.rig.clock.pass(LOST_AFTER_MS);
  rig.gateway.endSilent();
  await eventually(async () => (await hostRow())?.lost === 1);
});

test('C72, C232: however often the coordinator sleeps, capacity is reserved after its delay, and then stays reserved', async () => {
  rig = await GatewayRig.open(2 ** 25, { backfillReserveAfterMs: 600_000 });
  const submit = (cores: number) => rig.rig.submit(application(service({ resources: needs(null, cores) })));
  const agent = await rig.agent().join();
  await submit(3);
  const { assignment } = await agent.received('start');
  const waiting = await submit(4);
  for (let minute = 0; minute < 10; minute++) {
    rig.rig.clock.pass(60_000);
    pulse(agent);
    await rig.sleepCoordinator();
  }
  const later = [await submit(1)];
  await rig.sleepCoordinator();
  later.push(await submit(1));
  expect(await Promise.all(later.map((id) => rig.rig.statusOf(id)))).toEqual(['queued', 'queued']);
  agent.report([seen(assignment, exited(0))]);
  await agent.received('stop');
  agent.report([seen(assignment, gone)]);
  await eventually(async () => (await rig.rig.statusOf(waiting)) === 'starting');
  expect(await Promise.all(later.map((id) => rig.rig.statusOf(id)))).toEqual(['queued', 'queued']);
});

test('C232: if a program has written meanwhile, a coordinator that has slept gives up its agents, and goes on', async () => {
  const agent = await rig.agent().join();
  await rig.sleepCoordinator(() => rig.rig.memory.batch([outdateCoordinator]));
  await rig.rig.submit();
  expect(await eventually(() => agent.socket.closeCode)).toBe(4503);
});

const epoch = async () => (await rig.rig.memory.query('SELECT epoch FROM coordinator'))[0]?.epoch;

test.each(['answers', 'does not answer'])(
  'C121, C232: if another coordinator has taken over meanwhile, one that has slept retires, even if the database %s when it wakes',
  async (how) => {
    const agent = await rig.agent().join();
    await rig.sleepCoordinator(async () => {
      const another = { name: 'another', hasHeld: false };
      await takeOver(rig.rig.memory, defaultSchedulerConfig, another);
      if (how === 'does not answer') rig.rig.db.failing = 'unreachable';
    });
    expect(await codeOf(rig.rig.submit())).toBe('unavailable');
    rig.rig.db.failing = 'no';
    expect(await codeOf(rig.rig.submit())).toBe('unavailable');
    expect(await epoch()).toBe(2);
    expect(await eventually(() => agent.socket.closeCode)).toBe(4503);
    await eventually(() => rig.rig.clock.alarmMs === null);
  },
);

test('C232: a coordinator that can not go on after a sleep prepares the database before it takes over', async () => {
  await rig.agent().join();
  rig.rig.prepare = async () => {
    throw new Error('the database has a newer schema');
  };
  await rig.sleepCoordinator();
  await rig.rig.submit();
  expect(await epoch()).toBe(2);
  await rig.sleepCoordinator(() => rig.rig.memory.batch([outdateCoordinator]));
  for (let attempt = 0; attempt < 2; attempt++) expect(await codeOf(rig.rig.submit())).toBe('unavailable');
  expect(await epoch()).toBe(3);
  rig.rig.prepare = async () => {};
  await rig.rig.submit();
  expect(await epoch()).toBe(4);
});

test('C230, C232: the coordinator does not sleep while an agent only reports, is about to say hello, or something is under way', async () => {
  const isIdle = () => rig.rig.coordinator.saved !== undefined && rig.links.saved() !== undefined;
  const agent = await rig.agent().join();
  await eventually(isIdle);
  const submitting = rig.rig.submit();
  expect(isIdle()).toBe(false);
  await submitting;
  await eventually(isIdle);
  const events = await rig.rig.coordinator.openEvents(everything);
  expect(isIdle()).toBe(false);
  await events.cancel();
  await eventually(isIdle);
  const greeting = rig.agent();
  expect(isIdle()).toBe(false);
  greeting.hello();
  await greeting.received('sync');
  await eventually(() => agent.socket.closeCode === 4409);
  await eventually(isIdle);
  rig = await GatewayRig.open(2 ** 25, { hostLossPolicy: 'requeue' });
  await rig.agent().join();
  await eventually(() => rig.rig.coordinator.saved !== undefined);
  expect(isIdle()).toBe(false);
});

test('P179: who looks at hosts gets reports that are fresh, and waits for them, but not long', async () => {
  const [two, agent] = [rig.agent(), await rig.agent().join()];
  await rig.rig.memory.batch([insertHost(newHost(HOST_ID + 1, 'two', 0))]);
  expect(two.id).not.toBe(agent.id);
  await rig.rig.coordinator.hosts();
  expect(agent.socket.all('report.request')).toEqual([]);
  rig.rig.clock.pass(60_000);
  pulse(agent);
  const looking = [rig.rig.coordinator.hosts(), rig.rig.coordinator.host(HOST_ID)] as const;
  await agent.received('report.request');
  agent.reportWith({ conditions: [], usage: { memoryBytes: 7, cores: 0.5 } });
  const [[host]] = await Promise.all(looking);
  expect(host).toMatchObject({ usage: { memoryBytes: 7, cores: 0.5 }, heardMs: nowMs() });
  expect(agent.socket.all('report.request').length).toBe(1);
  rig.rig.clock.pass(60_000);
  const late = rig.rig.coordinator.hosts();
  await eventually(() => agent.socket.all('report.request').length === 2);
  rig.rig.clock.pass(300);
  expect((await late)[0]).toMatchObject({ usage: { memoryBytes: 7 } });
  // An agent that does not answer is asked once in a report period, and delays nobody in between.
  expect((await rig.rig.coordinator.hosts())[0]).toMatchObject({ usage: { memoryBytes: 7 } });
  expect(agent.socket.all('report.request').length).toBe(2);
});
