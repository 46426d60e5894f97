/** Reviews of the history by a coordinator (control-plane/coordinator/changes/history-review.ts). */
import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../../control-plane/core/lifecycle/retention.ts';
import { newHost } from '../../../../control-plane/core/model/host.ts';
import { insertHost } from '../../../../control-plane/store/cluster/host-rows.ts';
import type { ModelAgent } from '../../../support/agents/model-agent.ts';
import { CoordinatorRig, seen } from '../../../support/rigs/coordinator-rig.ts';
import { gone, running } from '../../../support/rigs/core-rig.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const HOUR_MS = 3_600_000;
/** In days. */
const SECOND = 1_000 / DAY_MS;

let rig: CoordinatorRig;

const open = async (keepEndedDays?: number) => {
  rig = await CoordinatorRig.open({}, keepEndedDays);
  rig.coordinator.wake();
  await rig.coordinator.ready();
};

const ids = async () => (await rig.memory.query('SELECT id FROM executions ORDER BY id')).map(({ id }) => id);

/** Lets time pass until the condition holds: reviews pause by the clock. */
const passUntil = (condition: () => Promise<boolean>, stepMs = 60_000) =>
  eventually(async () => {
    rig.pass(stepMs);
    return condition();
  });

/** Lets a few reviews happen. */
async function passReviews(count = 20): Promise<void> {
  for (let at = 0; at < count; at++) {
    rig.pass(1_000);
    await rig.coordinator.summary();
  }
}

const end = async (id: number) => {
  await rig.coordinator.terminate(id);
  return id;
};

async function startAndEnd(agent: ModelAgent, nth = 1): Promise<{ id: number; service: number }> {
  const id = await rig.submit();
  const assignment = await agent.started(nth);
  await agent.reportAndWait(seen(assignment, running));
  await rig.coordinator.terminate(id);
  await agent.reportAndWait(seen(assignment, gone));
  return { id, service: assignment.service };
}

describe('C240: an ended execution', () => {
  test('C240, C243: is removed when its days are over by the setting, which does not change the record, and none that ended later or not at all', async () => {
    await open(1);
    const unended = await rig.submit();
    const first = await end(await rig.submit());
    rig.clock.pass(DAY_MS / 2);
    const second = await end(await rig.submit());
    rig.clock.pass(DAY_MS / 2 - 60_000);
    await passReviews();
    expect(await ids()).toEqual([unended, first, second]);
    await passUntil(async () => (await ids()).length === 2);
    expect(await ids()).toEqual([unended, second]);
    rig.clock.pass(100 * DAY_MS);
    await passReviews();
    expect(await rig.statusOf(unended)).toBe('queued');
    const record = await rig.memory.query('SELECT keep_ended_days FROM coordinator');
    expect(record).toEqual([{ keep_ended_days: 90 }]);
  });

  test('C240, C242: loses its logs on the host before its rows, and stays until its host is connected', async () => {
    await open(SECOND);
    const agent = await rig.agent().join();
    const { service } = await startAndEnd(agent);
    agent.drop();
    await passReviews();
    expect(await rig.statusOf(1)).toBe('terminated');
    const back = await rig.agent().join();
    await passUntil(async () => back.socket.all('forget').length > 0, 1_000);
    expect(back.socket.all('forget')).toEqual([{ type: 'forget', services: [service] }]);
    expect(await ids()).toHaveLength(1);
    back.report([], [service]);
    await eventually(async () => (await ids()).length === 0);
    expect(await rig.memory.query('SELECT id FROM services')).toEqual([]);
  });
});

test('C241: one turn removes at most 20 executions', async () => {
  await open(1);
  for (let at = 0; at < 45; at++) await end(await rig.submit());
  rig.clock.pass(DAY_MS);
  const before = rig.db.batches.length;
  await passUntil(async () => (await ids()).length === 0, 1_000);
  const deletions = rig.db.batches
    .slice(before)
    .map((batch) => batch.filter(({ sql }) => sql.startsWith('DELETE FROM executions')).length)
    .filter((count) => count > 0);
  expect(deletions).toEqual([20, 20, 5]);
});

test('C241: a restart does not begin a review anew', async () => {
  await open(0);
  await passUntil(async () => (await reviewedMs()) > 0, 1_000);
  const first = await reviewedMs();
  rig.restart();
  await passReviews();
  expect(await reviewedMs()).toBe(first);
  await passUntil(async () => (await reviewedMs()) > first, HOUR_MS / 4);
});

const reviewedMs = async () =>
  Number((await rig.memory.query('SELECT reviewed_ms FROM coordinator'))[0]?.reviewed_ms);

test('C240, C241: with 0 days all ends stay, and the alarm is set to the next review, even if nothing else is due', async () => {
  await open(0);
  await end(await rig.submit());
  // By then, the host has been silent for so long that nothing of it is due.
  rig.clock.pass(HOUR_MS);
  await passUntil(async () => (await reviewedMs()) > 0, 1_000);
  await eventually(() => (rig.clock.alarmMs ?? 0) > rig.clock.nowMs() + HOUR_MS / 2);
  expect(rig.clock.alarmMs).toBeLessThanOrEqual(rig.clock.nowMs() + HOUR_MS);
  expect(await ids()).toHaveLength(1);
});

test('C243: a new database keeps ended executions for 90 days, without a setting', async () => {
  await open();
  await end(await rig.submit());
  rig.clock.pass(89 * DAY_MS);
  await passReviews();
  expect(await ids()).toHaveLength(1);
  rig.clock.pass(DAY_MS);
  await passUntil(async () => (await ids()).length === 0);
});

describe('C244: a review removes', () => {
  test('C244: what has expired, and nothing else', async () => {
    await open(0);
    const nowMs = rig.clock.nowMs();
    for (const [name, expiresMs] of Object.entries({ past: nowMs, future: nowMs + 100 * DAY_MS })) {
      await rig.memory.batch([
        { sql: 'INSERT INTO sessions VALUES (?, 1, 1, ?, NULL, NULL, NULL)', args: [name, expiresMs] },
        { sql: "INSERT INTO tokens VALUES (?, 'refresh', ?, 1, 1, ?)", args: [name, name, expiresMs] },
        { sql: 'INSERT INTO login_failures VALUES (?, 1, ?)', args: [name, expiresMs - HOUR_MS - 1] },
        { sql: "INSERT INTO join_tokens VALUES (?, NULL, '[]', ?, NULL)", args: [name, expiresMs] },
        { sql: "INSERT INTO idempotency_keys VALUES (1, ?, '', 1, ?)", args: [name, expiresMs - DAY_MS] },
      ]);
    }
    const left = async () =>
      Promise.all(
        [
          'SELECT token_hash AS name FROM sessions',
          'SELECT id_hash AS name FROM tokens',
          'SELECT bucket AS name FROM login_failures',
          'SELECT hash AS name FROM join_tokens',
          'SELECT key AS name FROM idempotency_keys',
        ].map((sql) => rig.memory.query(sql)),
      );
    await passUntil(async () => (await left()).flat().length === 5, 1_000);
    expect((await left()).flat()).toEqual(Array.from({ length: 5 }, () => ({ name: 'future' })));
  });

  test('C244: the row of a removed host after its days, once no service refers to it', async () => {
    await open(1);
    const agent = await rig.agent().join();
    const { id } = await startAndEnd(agent);
    rig.clock.pass(DAY_MS / 2);
    await rig.memory.batch([insertHost(newHost(2, 'two', 0))]);
    await rig.coordinator.removeHost(1, true);
    const hosts = async () =>
      (await rig.memory.query('SELECT id FROM hosts ORDER BY id')).map((row) => row.id);
    rig.clock.pass(DAY_MS / 2);
    await passUntil(async () => !(await ids()).includes(id));
    await passReviews();
    expect(await hosts()).toEqual([1, 2]);
    rig.clock.pass(DAY_MS / 2);
    await passUntil(async () => (await hosts()).length === 1);
    expect(await hosts()).toEqual([2]);
  });
});

test('C240: what a review has read before the state was lost is removed by the next one only', async () => {
  await open(1);
  const id = await end(await rig.submit());
  rig.clock.pass(DAY_MS);
  const query = rig.db.query.bind(rig.db);
  rig.db.query = async (sql, args) => {
    const rows = await query(sql, args);
    if (!sql.includes('ORDER BY time_end_ms')) return rows;
    rig.db.query = query;
    expect(await rig.codeWhile('refused', () => rig.submit())).toBe('unavailable');
    await rig.coordinator.ready();
    return rows;
  };
  await passUntil(async () => (await reviewedMs()) > 0, 1_000);
  expect(await ids()).toEqual([id]);
  await passUntil(async () => (await ids()).length === 0);
});

test('C242: after a failure of the database the review is tried again', async () => {
  await open(1);
  // From then on the host is lost, and no turn writes anything about it.
  rig.clock.pass(HOUR_MS);
  await end(await rig.submit());
  rig.clock.pass(DAY_MS);
  rig.db.failing = 'refused';
  await eventually(() => {
    rig.pass(1_000);
    return rig.logged.some((line) => line.startsWith('history.failed'));
  });
  rig.db.failing = 'no';
  await passUntil(async () => (await ids()).length === 0, 5_000);
});
