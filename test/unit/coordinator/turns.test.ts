import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Input } from '../../../control-plane/coordinator/turn-inputs.ts';
import { Turns } from '../../../control-plane/coordinator/turns.ts';
import { newExecution } from '../../../control-plane/core/lifecycle/submission.ts';
import { OperationError } from '../../../control-plane/core/model/errors.ts';
import { newHost } from '../../../control-plane/core/model/host.ts';
import { defaultSchedulerConfig } from '../../../control-plane/core/model/scheduler-config.ts';
import type { Cluster } from '../../../control-plane/core/state/cluster.ts';
import type { Decision } from '../../../control-plane/core/state/decision.ts';
import { commit, takeOver } from '../../../control-plane/store/cluster/cluster-rows.ts';
import { DatabaseError, type Db } from '../../../control-plane/store/db/db.ts';
import { application } from '../../support/fixtures/applications.ts';
import { FaultyDb, memoryDatabase } from '../../support/hosts/memory-database.ts';
import { decisionTexts } from '../../support/rigs/core-rig.ts';
import { TestClock } from '../../support/rigs/test-clock.ts';
import { eventually } from '../../support/tools/eventually.ts';

const LOSS_MS = defaultSchedulerConfig.lostAfterMs;

let memory: Db;
let db: FaultyDb;
let clock: TestClock;
let turns: Turns;
/** Everything that happened, in order. */
let events: string[];

/** If `faulty` returns true, the callback after a commit throws. */
function makeTurns(faulty: () => boolean = () => false): Turns {
  return new Turns(db, clock, () => {}, defaultSchedulerConfig, {
    committed: (decisions: readonly Decision[]) => {
      events.push(`sent ${decisionTexts(decisions).join(', ')}`);
      if (faulty()) throw new Error('a fault of ours');
    },
    changed: () => {},
    lost: () => events.push('lost'),
  });
}

beforeEach(async () => {
  memory = await memoryDatabase();
  db = new FaultyDb(memory);
  clock = new TestClock();
  events = [];
  turns = makeTurns();
});
afterEach(() => memory.close());

function submission(name: string): Input {
  return {
    run: (cluster, nowMs) => {
      const description = application();
      const execution = newExecution(
        cluster.nextIds,
        {
          userId: 1,
          name,
          application: description,
          description: JSON.stringify(description),
        },
        nowMs,
      );
      cluster.addExecution(execution);
      cluster.changes.newExecutions.set(execution, JSON.stringify(description));
    },
    done: () => events.push(`done ${name}`),
    fail: (error) => events.push(`fail ${name} ${error instanceof OperationError ? error.code : error}`),
  };
}

const happened = (count: number) => eventually(() => events.length >= count);
const stored = async (): Promise<number> => (await memory.query('SELECT id FROM executions')).length;

describe('C43: the order of a turn', () => {
  test('C43: no caller is answered and no agent receives anything before the commit', async () => {
    const commit = Promise.withResolvers<void>();
    db.before = () => commit.promise;
    turns.enqueue(submission('a'));
    await eventually(() => db.batches.length === 1);
    expect(events).toEqual([]);
    commit.resolve();
    await happened(2);
    expect(events).toEqual(['done a', 'sent ']);
    expect(await stored()).toBe(1);
  });
  test('C43: callers are answered in the order of their inputs, before agents receive anything', async () => {
    turns.enqueue({
      run: (cluster, nowMs) => {
        const host = { ...newHost(cluster.nextIds.host++, 'one', nowMs), cores: 1, connected: true };
        cluster.addHost(host);
        cluster.changes.newHosts.add(host);
      },
      fail: () => {},
    });
    turns.enqueue(submission('a'));
    turns.enqueue(submission('b'));
    await happened(3);
    expect(events).toEqual([
      'done a',
      'done b',
      'sent place web0@one, place web0@one, start web0.1, start web0.1',
    ]);
  });
  test('C43: a refused input changes nothing, is answered, and does not affect the others', async () => {
    turns.enqueue(submission('a'));
    turns.enqueue({
      run: () => {
        throw new OperationError('conflict', 'no');
      },
      done: () => events.push('done b'),
      fail: (error) => events.push(`fail b ${(error as OperationError).code}`),
    });
    turns.enqueue(submission('c'));
    await happened(4);
    expect(events).toEqual(['fail b conflict', 'done a', 'done c', 'sent ']);
    expect(await stored()).toBe(2);
  });
});

test('C43: an input whose callback throws after a lost commit affects neither the other inputs nor the next turn', async () => {
  const fail = () => {
    throw new Error('a fault of ours');
  };
  db.failing = 'refused';
  turns.enqueue({ ...submission('a'), fail });
  turns.enqueue(submission('b'));
  await happened(2);
  db.failing = 'no';
  turns.enqueue(submission('c'));
  await happened(4);
  expect(events).toEqual(['fail b unavailable', 'lost', 'done c', 'sent ']);
});

test('C132: an input that cannot read what it requires is answered, and does not affect the others', async () => {
  turns.enqueue(submission('a'));
  turns.enqueue({ ...submission('b'), read: () => Promise.reject(new Error('the connection broke off')) });
  turns.enqueue({ ...submission('c'), read: async () => void events.push('read c') });
  await happened(5);
  expect(events).toEqual(['fail b unavailable', 'read c', 'done a', 'done c', 'sent ']);
  expect(await stored()).toBe(2);
});

describe('C44: group commit', () => {
  test('C44: inputs of one moment share one commit', async () => {
    for (let n = 0; n < 16; n++) turns.enqueue(submission(`s${n}`));
    await happened(17);
    expect(db.batches).toHaveLength(1);
    expect(await stored()).toBe(16);
  });
  test('C44: inputs that arrive during a commit share the next one', async () => {
    const commit = Promise.withResolvers<void>();
    db.before = () => commit.promise;
    turns.enqueue(submission('first'));
    await eventually(() => db.batches.length === 1);
    for (let n = 0; n < 16; n++) turns.enqueue(submission(`s${n}`));
    commit.resolve();
    await happened(19);
    expect(db.batches).toHaveLength(2);
  });
  test('C44: a burst makes commits of at most 500 inputs', async () => {
    for (let n = 0; n < 1_100; n++) turns.enqueue(submission(`s${n}`));
    await happened(1_103);
    expect(db.batches).toHaveLength(3);
    expect(await stored()).toBe(1_100);
  });
  test('C44: a turn without changes makes no commit', async () => {
    turns.wake();
    await happened(1);
    expect(db.batches).toEqual([]);
  });
});

describe('C43: a failed commit', () => {
  test.each(['refused', 'committed'] as const)(
    'C43: a failed commit (%s) is not acknowledged, and the state is read again',
    async (failing) => {
      turns.enqueue(submission('before'));
      await happened(2);
      db.failing = failing;
      events = [];
      turns.enqueue(submission('a'));
      turns.enqueue(submission('b'));
      await happened(3);
      expect(events).toEqual(['fail a unavailable', 'fail b unavailable', 'lost']);
      expect(turns.cluster).toBeUndefined();
      db.failing = 'no';
      events = [];
      turns.enqueue(submission('c'));
      await happened(2);
      const names = (cluster: Cluster | undefined) =>
        [...(cluster?.executions.values() ?? [])].map((e) => e.name);
      expect(names(turns.cluster)).toEqual(
        failing === 'refused' ? ['before', 'c'] : ['before', 'a', 'b', 'c'],
      );
    },
  );
  test('C43: a failed commit is followed by a retry after a second, even without input', async () => {
    db.failing = 'unreachable';
    turns.enqueue(submission('a'));
    await happened(2);
    await eventually(() => clock.alarmMs !== null);
    expect(clock.alarmMs).toBe(clock.nowMs() + 1_000);
    db.failing = 'no';
    turns.wake();
    await eventually(() => turns.cluster !== undefined);
  });
  test('C43: a failure after a commit revokes no answer, and the state is read again', async () => {
    let faulty = true;
    turns = makeTurns(() => faulty);
    turns.enqueue(submission('a'));
    await happened(3);
    expect(events).toEqual(['done a', 'sent ', 'lost']);
    faulty = false;
    events = [];
    turns.enqueue(submission('b'));
    await happened(2);
    expect(events).toEqual(['done b', 'sent ']);
    expect(turns.cluster?.executions.size).toBe(2);
  });
});

describe('C42: a takeover', () => {
  test('C42: the earlier coordinator retires: it acknowledges nothing, commits nothing and sets no alarm', async () => {
    turns.enqueue(submission('a'));
    await happened(2);
    await takeOver(memory, defaultSchedulerConfig, { name: 'another', hasHeld: false });
    events = [];
    turns.enqueue(submission('b'));
    await happened(2);
    expect(events).toEqual(['fail b unavailable', 'lost']);
    turns.enqueue(submission('c'));
    await happened(4);
    expect(events.slice(2)).toEqual(['fail c unavailable', 'lost']);
    await eventually(() => clock.alarmMs === null);
    expect(await stored()).toBe(1);
  });
});

describe('C121: a coordinator that lost its state', () => {
  test('C121: a coordinator that lost its state retires if another has taken over meanwhile, and the other continues', async () => {
    turns.enqueue(submission('a'));
    await happened(2);
    db.failing = 'unreachable';
    turns.enqueue(submission('b'));
    await happened(4);
    const other = await takeOver(memory, defaultSchedulerConfig, { name: 'another', hasHeld: false });
    db.failing = 'no';
    turns.enqueue(submission('c'));
    await happened(6);
    expect(events.slice(2)).toEqual(['fail b unavailable', 'lost', 'fail c unavailable', 'lost']);
    await eventually(() => clock.alarmMs === null);
    await commit(memory, other.epoch, other.cluster.takeChanges());
    expect((await memory.query('SELECT epoch FROM coordinator'))[0]?.epoch).toBe(other.epoch);
  });

  test('C121: a coordinator continues if the last takeover was its own, even if that was reported as failed', async () => {
    turns.enqueue(submission('a'));
    await happened(2);
    const query = db.query.bind(db);
    db.failing = 'refused';
    turns.enqueue(submission('b'));
    await happened(4);
    db.failing = 'no';
    db.query = async (sql, args) => {
      const rows = await query(sql, args);
      if (!sql.startsWith('UPDATE coordinator')) return rows;
      db.query = query;
      throw new DatabaseError('unavailable', 'the answer is lost');
    };
    turns.enqueue(submission('c'));
    await happened(6);
    turns.enqueue(submission('d'));
    await happened(8);
    expect(events.slice(4)).toEqual(['fail c unavailable', 'lost', 'done d', 'sent ']);
  });
});

describe('C120: a late takeover', () => {
  test('C120: a takeover that the database carries out late does not affect a later coordinator', async () => {
    const claims: (() => Promise<unknown>)[] = [];
    const query = db.query.bind(db);
    db.query = async (sql, args) => {
      if (!sql.startsWith('UPDATE coordinator') || claims.length > 0) return query(sql, args);
      claims.push(() => query(sql, args));
      throw new DatabaseError('unavailable', 'it does not answer in time');
    };
    turns.enqueue(submission('a'));
    await happened(2);
    turns.enqueue(submission('b'));
    await happened(4);
    await claims[0]?.();
    turns.enqueue(submission('c'));
    await happened(6);
    expect(events).toEqual(['fail a unavailable', 'lost', 'done b', 'sent ', 'done c', 'sent ']);
  });
});

describe('C17: time', () => {
  function joined(): Input {
    return {
      run: (cluster, nowMs) => {
        const host = { ...newHost(cluster.nextIds.host++, 'one', nowMs), connected: true };
        cluster.addHost(host);
        cluster.changes.newHosts.add(host);
      },
      done: () => events.push('joined'),
      fail: (error) => events.push(String(error)),
    };
  }
  test('C17: the alarm is set to the next deadline, and the due work is then done', async () => {
    turns.enqueue(joined());
    await eventually(() => clock.alarmMs !== null);
    expect(clock.alarmMs).toBe(clock.nowMs() + LOSS_MS);
    clock.pass(LOSS_MS);
    events = [];
    turns.wake();
    await happened(1);
    expect(events).toEqual(['sent lose-host one']);
  });
  test('C17: after a restart a host has the full time to reconnect, however old its last stored contact', async () => {
    turns.enqueue(joined());
    await happened(2);
    clock.pass(10 * LOSS_MS);
    events = [];
    turns = makeTurns();
    turns.wake();
    await happened(1);
    expect(events).toEqual(['sent ']);
    await eventually(() => clock.alarmMs === clock.nowMs() + LOSS_MS);
  });
});
