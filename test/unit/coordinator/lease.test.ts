import { beforeEach, expect, test } from 'vitest';
import { prepareRestored } from '../../../control-plane/store/schema/backup.ts';
import { CoordinatorRig, seen } from '../../support/rigs/coordinator-rig.ts';
import { running } from '../../support/rigs/core-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

let rig: CoordinatorRig;

beforeEach(async () => {
  rig = await CoordinatorRig.open({ hostLossPolicy: 'requeue' });
});

async function row() {
  const [found] = await rig.memory.query('SELECT lease_ms, silent_since_ms FROM hosts LIMIT 1');
  return found;
}

test('C104, P32: the welcome grants the lease, which counts from the next report', async () => {
  const agent = await rig.agent().join();
  expect(agent.socket.all('welcome')[0]?.leaseMs).toBe(90_000);
  expect(await row()).toEqual({ lease_ms: null, silent_since_ms: null });
  await agent.reportAndWait();
  expect(await row()).toEqual({ lease_ms: 90_000, silent_since_ms: null });
  agent.drop();
  await eventually(async () => (await row())?.silent_since_ms === rig.clock.nowMs());
});

test('C104: a lease that the agent reports in its hello counts from that hello', async () => {
  const agent = rig.agent();
  agent.hello([], { leaseMs: 120_000 });
  await eventually(() => agent.socket.all('sync').length > 0);
  expect((await row())?.lease_ms).toBe(120_000);
});

test('P11, C104: a report of an agent counts no longer after the hello of its successor, even in the same turn', async () => {
  const older = await rig.agent().join();
  await older.reportAndWait();
  const newer = rig.agent();
  newer.hello();
  older.report([]);
  await eventually(() => newer.socket.all('sync').length > 0);
  expect((await row())?.lease_ms).toBeNull();
});

test('P32: with the policy wait no agent is granted a lease', async () => {
  rig = await CoordinatorRig.open();
  const agent = await rig.agent().join();
  expect(agent.socket.all('welcome')[0]).not.toHaveProperty('leaseMs');
});

test('C108: a coordinator grants no contact after a takeover, not even to reports that change nothing', async () => {
  const agent = await rig.agent().join();
  await agent.reportAndWait();
  const acks = agent.socket.all('ack').length;
  rig.restart();
  await rig.coordinator.ready();
  rig.clock.pass(10_000);
  agent.report([]);
  await eventually(() => agent.socket.closeCode === 4503);
  expect(agent.socket.all('ack')).toHaveLength(acks);
});

test('C105: a coordinator that reads its state anew counts the silence of connected hosts from then', async () => {
  const agent = await rig.agent().join();
  for (let periods = 0; periods < 4; periods++) {
    rig.clock.pass(30_000);
    await agent.reportAndWait();
  }
  expect(await rig.codeWhile('refused', () => rig.submit())).toBe('unavailable');
  await rig.submit();
  expect(await row()).toMatchObject({ silent_since_ms: rig.clock.nowMs() });
  expect(await rig.memory.query('SELECT lost FROM hosts')).toEqual([{ lost: 0 }]);
});

test('C167: after a restore the silence of a host is counted anew, since it may have reconnected meanwhile', async () => {
  const agent = await rig.agent().join();
  const id = await rig.submit();
  await agent.reportAndWait(seen(await agent.started(), running));
  agent.drop();
  await eventually(async () => (await row())?.silent_since_ms === rig.clock.nowMs());
  rig.pass(90_000);
  await eventually(async () => (await rig.memory.query('SELECT lost FROM hosts LIMIT 1'))[0]?.lost === 1);
  await prepareRestored(rig.memory, undefined);
  rig.restart();
  // By the silence that the copy recorded, the services would now start elsewhere.
  rig.clock.pass(120_000);
  await rig.coordinator.ready();
  expect(await rig.statusOf(id)).toBe('running');
  rig.pass(120_000);
  await eventually(async () => (await rig.statusOf(id)) !== 'running');
});
