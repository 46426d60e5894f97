import { beforeEach, describe, expect, test } from 'vitest';
import { defaultSchedulerConfig } from '../../../control-plane/core/model/scheduler-config.ts';
import type { Cluster } from '../../../control-plane/core/state/cluster.ts';
import { commit, takeOver } from '../../../control-plane/store/cluster/cluster-rows.ts';
import { DatabaseError } from '../../../control-plane/store/db/db.ts';
import { TurnsRig } from '../../support/rigs/turns-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

let rig: TurnsRig;
beforeEach(async () => {
  rig = await TurnsRig.open();
});

describe('C43: a failed commit', () => {
  test.each(['refused', 'committed'] as const)(
    'C43: a failed commit (%s) is not acknowledged, and the state is read again',
    async (failing) => {
      await rig.submit('before', 2);
      rig.db.failing = failing;
      rig.events = [];
      rig.turns.enqueue(rig.submission('a'));
      await rig.submit('b', 3);
      expect(rig.events).toEqual(['fail a unavailable', 'fail b unavailable', 'lost']);
      expect(rig.turns.cluster).toBeUndefined();
      rig.db.failing = 'no';
      rig.events = [];
      await rig.submit('c', 2);
      const names = (cluster: Cluster | undefined) =>
        [...(cluster?.executions.values() ?? [])].map((e) => e.name);
      expect(names(rig.turns.cluster)).toEqual(
        failing === 'refused' ? ['before', 'c'] : ['before', 'a', 'b', 'c'],
      );
    },
  );
  test('C43: a failed commit is followed by a retry after a second, even without input', async () => {
    rig.db.failing = 'unreachable';
    await rig.submit('a', 2);
    await eventually(() => rig.clock.alarmMs !== null);
    expect(rig.clock.alarmMs).toBe(rig.clock.nowMs() + 1_000);
    rig.db.failing = 'no';
    rig.turns.wake();
    await eventually(() => rig.turns.cluster !== undefined);
  });
  test('C43: a failure after a commit revokes no answer, and the state is read again', async () => {
    let faulty = true;
    rig.turns = rig.makeTurns(() => faulty);
    await rig.submit('a', 3);
    expect(rig.events).toEqual(['done a', 'sent ', 'lost']);
    faulty = false;
    rig.events = [];
    await rig.submit('b', 2);
    expect(rig.events).toEqual(['done b', 'sent ']);
    expect(rig.turns.cluster?.executions.size).toBe(2);
  });
});

test('C42: the earlier coordinator retires: it acknowledges nothing, commits nothing and sets no alarm', async () => {
  await rig.submit('a', 2);
  await takeOver(rig.memory, defaultSchedulerConfig, { name: 'another', hasHeld: false });
  rig.events = [];
  await rig.submit('b', 2);
  expect(rig.events).toEqual(['fail b unavailable', 'lost']);
  await rig.submit('c', 4);
  expect(rig.events.slice(2)).toEqual(['fail c unavailable', 'lost']);
  await eventually(() => rig.clock.alarmMs === null);
  expect(await rig.stored()).toBe(1);
});

test('C121: a coordinator that lost its state retires if another has taken over meanwhile, and the other continues', async () => {
  await rig.submit('a', 2);
  rig.db.failing = 'unreachable';
  await rig.submit('b', 4);
  const other = await takeOver(rig.memory, defaultSchedulerConfig, { name: 'another', hasHeld: false });
  rig.db.failing = 'no';
  await rig.submit('c', 6);
  expect(rig.events.slice(2)).toEqual(['fail b unavailable', 'lost', 'fail c unavailable', 'lost']);
  await eventually(() => rig.clock.alarmMs === null);
  await commit(rig.memory, other.epoch, other.cluster.takeChanges());
  expect((await rig.memory.query('SELECT epoch FROM coordinator'))[0]?.epoch).toBe(other.epoch);
});

test('C121: a coordinator continues if the last takeover was its own, even if that was reported as failed', async () => {
  await rig.submit('a', 2);
  const query = rig.db.query.bind(rig.db);
  rig.db.failing = 'refused';
  await rig.submit('b', 4);
  rig.db.failing = 'no';
  rig.db.query = async (sql, args) => {
    const rows = await query(sql, args);
    if (!sql.startsWith('UPDATE coordinator')) return rows;
    rig.db.query = query;
    throw new DatabaseError('unavailable', 'the answer is lost');
  };
  await rig.submit('c', 6);
  await rig.submit('d', 8);
  expect(rig.events.slice(4)).toEqual(['fail c unavailable', 'lost', 'done d', 'sent ']);
});

test('C120: a takeover that the database carries out late does not affect a later coordinator', async () => {
  const claims: (() => Promise<unknown>)[] = [];
  const query = rig.db.query.bind(rig.db);
  rig.db.query = async (sql, args) => {
    if (!sql.startsWith('UPDATE coordinator') || claims.length > 0) return query(sql, args);
    claims.push(() => query(sql, args));
    throw new DatabaseError('unavailable', 'it does not answer in time');
  };
  await rig.submit('a', 2);
  await rig.submit('b', 4);
  await claims[0]?.();
  await rig.submit('c', 6);
  expect(rig.events).toEqual(['fail a unavailable', 'lost', 'done b', 'sent ', 'done c', 'sent ']);
});
