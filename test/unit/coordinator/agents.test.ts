import { beforeEach, describe, expect, test } from 'vitest';
import { newHost } from '../../../control-plane/core/model/host.ts';
import { insertHost } from '../../../control-plane/store/cluster/host-rows.ts';
import { findService } from '../../../control-plane/store/executions/executions.ts';
import { keyOf } from '../../../shared/protocol/assignment.ts';
import { PROTOCOL_VERSION } from '../../../shared/protocol/version.ts';
import { application, needs, service } from '../../support/fixtures/applications.ts';
import { CoordinatorRig, seen } from '../../support/rigs/coordinator-rig.ts';
import { created, exited, gone, running } from '../../support/rigs/core-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

let rig: CoordinatorRig;
beforeEach(async () => {
  rig = await CoordinatorRig.open();
});

describe('an agent that connects', () => {
  test('P3: a hello is answered by welcome, then by sync', async () => {
    const one = await rig.agent().join();
    expect(one.socket.sent.map(({ type }) => type)).toEqual(['welcome', 'sync']);
    expect(one.socket.sent).toMatchObject([
      { version: PROTOCOL_VERSION, reportPeriodMs: 10_000, spreadMs: 30, timeMs: rig.clock.nowMs() },
      { revision: 1, assignments: [], more: false },
    ]);
  });
  test('P3: a service that starts with the hello is in its sync, and is not sent again', async () => {
    await rig.submit();
    const one = await rig.agent().join();
    expect(one.socket.all('sync')[0]?.assignments).toMatchObject([{ instance: 'web0', generation: 1 }]);
    await one.reportAndWait();
    expect(one.socket.all('start')).toEqual([]);
  });
  test('P3: a long sync comes in parts of one revision, and takes effect with the last', async () => {
    await rig.submit(
      application(service({ total_count: 250, essential_count: 250, resources: needs(0, 0.001) })),
    );
    const one = await rig.agent().join();
    const parts = one.socket.all('sync');
    expect(parts.map(({ assignments }) => assignments.length)).toEqual([100, 100, 50]);
    expect(parts.map(({ revision }) => revision)).toEqual([1, 1, 1]);
    expect(parts.map(({ more }) => more)).toEqual([true, true, false]);
  });
  test.each([
    [{ version: PROTOCOL_VERSION + 1 }, 4426],
    [{ version: 0 }, 4426],
    [{ hash: 'another' }, 4426],
    [{ deployment: 'other' }, 4404],
  ])('P2: a hello with %j is refused with %d, and changes nothing', async (changes, code) => {
    const one = rig.agent();
    one.hello([], changes);
    expect(one.socket.closeCode).toBe(code);
    await rig.submit();
    expect(await rig.memory.query('SELECT address FROM hosts')).toEqual([{ address: '' }]);
  });
  test.each<[string, string | Uint8Array]>([
    ['text that is not a message', 'nonsense'],
    ['a report', '{"type":"report","sequence":1,"observations":[],"forgotten":[]}'],
    ['a short binary frame', new Uint8Array(3)],
  ])('P2: %s before hello closes with 4400', (_, frame) => {
    const one = rig.agent();
    one.connection.receive(frame);
    expect(one.socket.closeCode).toBe(4400);
  });
  test('P2: a second hello closes with 4400, even before the first is answered', async () => {
    const one = rig.agent();
    one.hello();
    one.hello();
    expect(one.socket.closeCode).toBe(4400);
  });
  test('P11: a newer session of a host replaces the older one, whose reports no longer count', async () => {
    const { agent: older, id, start: assignment } = await rig.starts();
    const newer = await rig.agent().join();
    expect(older.socket.closeCode).toBe(4409);
    expect(newer.socket.all('sync')[0]?.assignments).toHaveLength(1);
    older.report([seen(assignment, exited(3))]);
    await newer.reportAndWait(seen(assignment, running));
    expect(await rig.statusOf(id)).toBe('running');
    const second = await rig.submit();
    await newer.started(2);
    expect(await rig.statusOf(second)).toBe('starting');
  });
  test('P11: a host accepts services although its older session ends just after the newer hello', async () => {
    const older = await rig.agent().join();
    const newer = rig.agent();
    newer.hello();
    older.drop();
    await eventually(() => newer.socket.all('sync').length > 0);
    await rig.submit();
    await newer.started();
  });
  test('C3: an agent that closes while its hello is being committed leaves a disconnected host', async () => {
    const one = rig.agent();
    one.hello();
    const commit = rig.db.hold();
    await commit.begun;
    one.drop();
    commit.release();
    await eventually(
      async () => (await rig.memory.query("SELECT id FROM hosts WHERE address <> ''")).length === 1,
    );
    const id = await rig.submit();
    expect(await rig.statusOf(id)).toBe('queued');
  });
});

describe('starts and stops', () => {
  test('P8: a start is sent only after its commit', async () => {
    const one = await rig.agent().join();
    const commit = rig.db.hold();
    const id = rig.submit();
    await commit.begun;
    expect(one.socket.all('start')).toEqual([]);
    commit.release();
    await id;
    expect(one.socket.all('start')).toHaveLength(1);
  });
  test('P4: each start and each stop carries the next revision', async () => {
    const one = await rig.agent().join();
    const id = await rig.submit(
      application(service({ total_count: 2, essential_count: 2 }), service({ name: 'other' })),
    );
    await rig.coordinator.terminate(id);
    const revisions = one.socket.sent.flatMap((message) =>
      'revision' in message ? [`${message.type} ${message.revision}`] : [],
    );
    expect(revisions.join()).toBe('sync 1,start 2,start 3,start 4,stop 5,stop 6,stop 7');
  });
  test('P7, P41: a report is acknowledged after its commit, with its number and the time', async () => {
    const { agent: one, start: assignment } = await rig.starts();
    const commit = rig.db.hold();
    one.report([seen(assignment, running)]);
    await commit.begun;
    expect(one.socket.all('ack')).toEqual([]);
    commit.release();
    await eventually(() => one.socket.all('ack').length === 1);
    expect(one.socket.all('ack')).toEqual([
      { type: 'ack', sequence: 1, timeMs: rig.clock.nowMs(), coreShares: [] },
    ]);
  });
  test('P7: one acknowledgement covers all reports of a connection that a turn has committed', async () => {
    const one = await rig.agent().join();
    one.report([]);
    one.report([]);
    await one.reportAndWait();
    expect(one.socket.all('ack')).toMatchObject([{ sequence: 3 }]);
  });
  test('P5: an agent that reconnects gets the same keys again, without those to stop', async () => {
    const one = await rig.agent().join();
    const ids = [await rig.submit(), await rig.submit()] as const;
    const keys = [keyOf(await one.started(1)), keyOf(await one.started(2))];
    one.drop();
    await rig.coordinator.terminate(ids[0]);
    const back = await rig.agent().join();
    expect(back.socket.all('sync')[0]?.assignments.map(keyOf)).toEqual([keys[1]]);
  });
  test('C18: a stop that a hello causes is sent, since the agent may never have received the start', async () => {
    const one = await rig.agent().join();
    const id = await rig.submit(application(service(), service({ name: 'side', monitor: false })));
    const [web, side] = [await one.started(1), await one.started(2)];
    await one.reportAndWait(seen(web, running), seen(side, running));
    await one.reportEach(side, exited(1), gone);
    one.drop();
    rig.pass(1_000);
    await eventually(async () => (await findService(rig.memory, side.service))?.status === 'starting');
    // The monitor has ended meanwhile. The agent never received the second start of the other service.
    const back = await rig.agent().join([seen(web, exited(0))]);
    const stops = () => back.socket.all('stop').map(keyOf);
    await eventually(() => stops().length === 2);
    expect(stops()).toEqual([keyOf(web), keyOf({ ...side, generation: 2 })]);
    await back.reportAndWait(seen(web, gone), seen({ ...side, generation: 2 }, gone));
    expect(await rig.statusOf(id)).toBe('terminated');
  });
  test('C43: a failed commit disconnects the agents, which receive nothing and find the committed state again', async () => {
    const { agent: one, start: assignment } = await rig.starts();
    rig.db.failing = 'refused';
    one.report([seen(assignment, running)]);
    expect(await one.socket.closed()).toBe(4503);
    expect(one.socket.all('ack')).toEqual([]);
    rig.db.failing = 'no';
    const back = await rig.agent().join([seen(assignment, running)]);
    expect(back.socket.all('sync')[0]?.assignments.map(keyOf)).toEqual([keyOf(assignment)]);
    await eventually(async () => (await findService(rig.memory, assignment.service))?.status === 'active');
  });
  test('C41: a new coordinator continues where the old one stopped', async () => {
    const one = await rig.agent({ cores: 0.1 }).join();
    const [first, second] = [await rig.submit(), await rig.submit()];
    const assignment = await one.started();
    await one.reportAndWait(seen(assignment, created));
    rig.restart();
    const back = await rig.agent({ cores: 0.1 }).join([seen(assignment, running)]);
    expect(back.socket.all('sync')[0]?.assignments.map(keyOf)).toEqual([keyOf(assignment)]);
    await eventually(async () => (await rig.statusOf(first)) === 'running');
    expect(await rig.statusOf(second)).toBe('queued');
    await back.reportEach(assignment, exited(0), gone);
    expect([await rig.statusOf(first), await rig.statusOf(second)]).toEqual(['terminated', 'starting']);
  });
  test('C217: a coordinator that another has superseded does not call a host removed that it does not know', async () => {
    await rig.agent().join();
    const agent = rig.agent({}, 2);
    rig.restart();
    await rig.agent().join();
    await rig.memory.batch([insertHost(newHost(2, 'two', 0))]);
    agent.hello();
    expect(await agent.socket.closed()).toBe(4503);
  });
  test('C217, P20: the current coordinator closes the connection of a host that was removed after its admission with 4403', async () => {
    const agent = rig.agent({}, 2);
    agent.hello();
    expect(await agent.socket.closed()).toBe(4403);
  });
  test('C218: a coordinator that another has superseded acknowledges no report of a start that it does not know', async () => {
    const old = await rig.agent().join();
    rig.restart();
    const { start: assignment } = await rig.starts();
    old.report([seen(assignment, gone)]);
    expect(await old.socket.closed()).toBe(4503);
    expect(old.socket.all('ack')).toEqual([]);
  });
  test('C221: a hello from before the takeover that lacks a reported container closes with 4000, one that lacks none is welcome, and the next one decides', async () => {
    const agent = await rig.agent().join();
    const id = await rig.submit();
    const container = seen(await agent.started(), running);
    await agent.reportAndWait(container);
    rig.restart();
    const [lacking, whole] = [rig.agent(), rig.agent()];
    lacking.hello();
    expect([await lacking.socket.closed(), await rig.statusOf(id)]).toEqual([4000, 'running']);
    await whole.join([container]);
    expect([whole.socket.closeCode, await rig.statusOf(id)]).toEqual([undefined, 'running']);
    await rig.agent().join();
    expect(await rig.statusOf(id)).toBe('error');
  });
  test('C221: a hello that arrives after that of a later connection closes with 4000, and ends nothing', async () => {
    const late = rig.agent();
    const agent = await rig.agent().join();
    const id = await rig.submit();
    await agent.reportAndWait(seen(await agent.started(), running));
    late.hello();
    expect([await late.socket.closed(), agent.socket.closeCode]).toEqual([4000, undefined]);
    expect(await rig.statusOf(id)).toBe('running');
  });
});

test('P150: an acknowledgement carries the shares of users on the host once, and again when they change', async () => {
  const { coordinator } = rig;
  await coordinator.changeAccounts({
    kind: 'create-quota',
    quota: { name: 'capped', concurrentExecutions: 0, memoryBytes: 0, cores: 1 },
  });
  const rest = { email: '', roleId: 3, authSource: 'internal', priority: 0, enabled: true };
  const user = { username: 'capped', quotaId: 2, ...rest };
  await coordinator.changeAccounts({ kind: 'create-user', user });
  const one = await rig.agent().join();
  const [mine] = [await rig.submit(application(), 'run', 2), await rig.submit(application(), 'run', 1)];
  const shares = () => one.socket.all('ack').map(({ coreShares }) => coreShares);
  await one.reportAndWait();
  expect(shares()).toEqual([[{ cores: 1, executions: [mine] }]]);
  await one.reportAndWait();
  expect(shares().at(-1)).toBeUndefined();
  await coordinator.changeAccounts({ kind: 'update-quota', id: 2, changes: { cores: 2 } });
  await one.reportAndWait();
  expect(shares().at(-1)).toEqual([{ cores: 2, executions: [mine] }]);
  await coordinator.changeAccounts({ kind: 'update-quota', id: 2, changes: { cores: 0 } });
  await one.reportAndWait();
  expect(shares().at(-1)).toEqual([]);
});
