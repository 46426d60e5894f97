import { beforeEach, expect, test } from 'vitest';
import { unauthorisedServices } from '../../../../control-plane/core/hosts/report-authorisation.ts';
import { newHost } from '../../../../control-plane/core/model/host.ts';
import { insertHost } from '../../../../control-plane/store/cluster/host-rows.ts';
import type { Assignment } from '../../../../shared/protocol/assignment.ts';
import type { Observation } from '../../../../shared/protocol/up.ts';
import type { ModelAgent } from '../../../support/agents/model-agent.ts';
import { CoordinatorRig, HOST_ID, seen } from '../../../support/rigs/coordinator-rig.ts';
import {
  created,
  exited,
  failed,
  gone,
  hostFacts,
  running,
  runningRig,
} from '../../../support/rigs/core-rig.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const OTHER_ID = 2;
let rig: CoordinatorRig;
let one: ModelAgent;
let other: ModelAgent;
let started: Assignment;

/** One execution is starting on host one; host two has nothing. */
beforeEach(async () => {
  rig = await CoordinatorRig.open();
  await rig.memory.batch([insertHost(newHost(OTHER_ID, 'two', 0))]);
  one = await rig.agent().join();
  await rig.submit();
  started = await one.started();
  other = await joinOther();
});

const joinOther = (inventory: Parameters<ModelAgent['join']>[0] = []) =>
  rig.agent({ name: 'two' }, OTHER_ID).join(inventory);
const closed = async (agent: ModelAgent, acknowledged = 0): Promise<void> => {
  expect(await agent.socket.closed()).toBe(4400);
  expect(agent.socket.all('ack')).toHaveLength(acknowledged);
};

test.each([created, running, exited(0), failed(false), gone])(
  "P12: a report of %j on another host's start closes the socket, is logged and changes nothing",
  async (observed) => {
    other.report([seen(started, observed)]);
    await closed(other);
    expect(rig.logged.filter((line) => line.startsWith('agent.report-refused'))).toEqual([
      `agent.report-refused ${JSON.stringify({ host: 'two', what: `services ${started.service}` })}`,
    ]);
    await one.reportAndWait(seen(started, running));
    expect(await rig.statusOf(started.execution)).toBe('running');
  },
);
test('P12: a report on a start that no host was given closes the socket', async () => {
  other.report([seen({ ...started, generation: 7 }, running)]);
  await closed(other);
});
test('C166: a report that an unknown start is gone is only late, because the database may be an older copy, which may have given it to another host', async () => {
  await other.reportAndWait(seen({ ...started, generation: 7 }, gone));
  expect(other.socket.closeCode).toBeUndefined();
  other.drop();
  // The ids of this hello show that the database is an older copy.
  const back = rig.agent({ name: 'two' }, OTHER_ID);
  back.hello([], { highest: { execution: 90, service: 90 } });
  await back.received('sync');
  await back.reportAndWait(seen(started, gone));
  expect(back.socket.closeCode).toBeUndefined();
  await one.reportAndWait(seen(started, running));
  expect(await rig.statusOf(started.execution)).toBe('running');
});
test('P12: a report with one unauthorised service is discarded as a whole', async () => {
  one.drop();
  await rig.submit();
  const mine = await other.started();
  other.report([seen(mine, running), seen(started, gone)]);
  await closed(other);
  expect(await rig.statusOf(mine.execution)).toBe('starting');
});
test('P12, C218: a report on an unknown service or on one that has ended is only late', async () => {
  const id = await rig.submit();
  const ended = await other.started();
  await rig.coordinator.terminate(id);
  await other.reportAndWait(seen(ended, gone));
  await one.reportAndWait(seen(ended, exited(1)), seen({ ...ended, service: 999 }, gone));
  expect(one.socket.closeCode).toBeUndefined();
});
test("P12: a report on the host's own earlier start is only late, even if another host has the service now", async () => {
  await one.reportAndWait(seen(started, failed(true)));
  await one.reportAndWait(seen(started, gone));
  one.drop();
  rig.clock.pass(60_000);
  rig.coordinator.wake();
  const moved = await other.started();
  expect(moved).toMatchObject({ service: started.service, generation: 2 });
  const back = await rig.agent().join();
  await back.reportAndWait(seen(started, gone));
  expect(back.socket.closeCode).toBeUndefined();
  back.report([seen(moved, gone)]);
  await closed(back, 1);
});
test('P12: a report on a container listed in the hello is not a violation, but it is logged and the container must stop', async () => {
  other.drop();
  const listing = await joinOther([seen(started, running)]);
  expect(listing.socket.all('sync')[0]?.assignments).toEqual([]);
  await listing.reportAndWait(seen(started, gone));
  expect(rig.logged.filter((line) => line.startsWith('agent.duplicate-starts'))).toHaveLength(1);
  await one.reportAndWait(seen(started, running));
  expect(await rig.statusOf(started.execution)).toBe('running');
});
test('P12: a report that logs are removed which another host must remove closes the socket', async () => {
  await rig.coordinator.remove(started.execution);
  await one.reportAndWait(seen(started, gone));
  await one.received('forget');
  other.report([], [started.service]);
  await closed(other);
  one.report([], [started.service]);
  await eventually(async () => (await rig.statusOf(started.execution)) === undefined);
});

test('P12: output, or the end of it, that was not requested closes the socket', async () => {
  other.chunk(4_000_000_000, new Uint8Array(1));
  await closed(other);
  expect(rig.logged.some((line) => line.startsWith('agent.report-refused'))).toBe(true);
  one.sendMessage({ type: 'channel.end', channel: 4_000_000_000 });
  await closed(one);
});

test('P20: a connection with the name of another host is closed with 4400', async () => {
  const two = rig.agent({ name: 'two' }, HOST_ID);
  two.hello();
  await closed(two);
  expect(one.socket.closeCode).toBeUndefined();
});

test('P12: a report about the last start is only late while the service waits for its next start', () => {
  const { rig: core, side } = runningRig();
  const second = core.hello(hostFacts('two'));
  const key = { service: side.id, generation: 1 };
  const report = { observations: [{ ...running, ...key } as Observation], forgotten: [] };
  const refused = () => unauthorisedServices(core.cluster, second, report, new Set());
  expect(refused()).toEqual([side.id]);
  core.see(side, exited(1), gone);
  expect(refused()).toEqual([]);
  core.advance(1_000);
  expect(side.generation).toBe(2);
  expect(refused()).toEqual([]);
});
