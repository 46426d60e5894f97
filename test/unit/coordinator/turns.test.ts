import { beforeEach, describe, expect, test } from 'vitest';
import type { Input } from '../../../control-plane/coordinator/turn-inputs.ts';
import { OperationError } from '../../../control-plane/core/model/errors.ts';
import { newHost } from '../../../control-plane/core/model/host.ts';
import { defaultSchedulerConfig } from '../../../control-plane/core/model/scheduler-config.ts';
import { TurnsRig } from '../../support/rigs/turns-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

const LOSS_MS = defaultSchedulerConfig.lostAfterMs;

let rig: TurnsRig;
beforeEach(async () => {
  rig = await TurnsRig.open();
});

/** A host joins. */
const joined = (cores = 0): Input => ({
  run: (cluster, nowMs) => {
    const host = { ...newHost(cluster.nextIds.host++, 'one', nowMs), cores, connected: true };
    cluster.addHost(host);
    cluster.changes.newHosts.add(host);
  },
  fail: (error) => rig.events.push(String(error)),
});

describe('C43: the order of a turn', () => {
  test('C43: no caller is answered and no agent receives anything before the commit', async () => {
    const commit = rig.db.hold();
    rig.turns.enqueue(rig.submission('a'));
    await commit.begun;
    expect(rig.events).toEqual([]);
    commit.release();
    await rig.happened(2);
    expect(rig.events).toEqual(['done a', 'sent ']);
    expect(await rig.stored()).toBe(1);
  });
  test('C43: callers are answered in the order of their inputs, before agents receive anything', async () => {
    rig.turns.enqueue(joined(1));
    rig.turns.enqueue(rig.submission('a'));
    await rig.submit('b', 3);
    expect(rig.events).toEqual([
      'done a',
      'done b',
      'sent place web0@one, place web0@one, start web0.1, start web0.1',
    ]);
  });
  test('C43, C132: an input that is refused, or that cannot read what it requires, changes nothing, is answered, and does not affect the others', async () => {
    rig.turns.enqueue(rig.submission('a'));
    rig.turns.enqueue({
      run: () => {
        throw new OperationError('conflict', 'no');
      },
      done: () => rig.events.push('done b'),
      fail: (error) => rig.events.push(`fail b ${(error as OperationError).code}`),
    });
    rig.turns.enqueue({
      ...rig.submission('c'),
      read: () => Promise.reject(new Error('the connection broke off')),
    });
    rig.turns.enqueue({ ...rig.submission('d'), read: async () => void rig.events.push('read d') });
    await rig.happened(6);
    expect(rig.events).toEqual([
      ...['read d', 'fail c unavailable', 'fail b conflict', 'done a', 'done d', 'sent '],
    ]);
    expect(await rig.stored()).toBe(2);
  });
});

test('C43: an input whose callback throws after a lost commit affects neither the other inputs nor the next turn', async () => {
  const fail = () => {
    throw new Error('a fault of ours');
  };
  rig.db.failing = 'refused';
  rig.turns.enqueue({ ...rig.submission('a'), fail });
  await rig.submit('b', 2);
  rig.db.failing = 'no';
  await rig.submit('c', 4);
  expect(rig.events).toEqual(['fail b unavailable', 'lost', 'done c', 'sent ']);
});

describe('C44: group commit', () => {
  test('C44: inputs of one moment share one commit, and those that arrive meanwhile the next one', async () => {
    const commit = rig.db.hold();
    for (let n = 0; n < 16; n++) rig.turns.enqueue(rig.submission(`s${n}`));
    await commit.begun;
    for (let n = 16; n < 32; n++) rig.turns.enqueue(rig.submission(`s${n}`));
    commit.release();
    await rig.happened(34);
    expect(rig.db.batches).toHaveLength(2);
    expect(await rig.stored()).toBe(32);
  });
  test('C44: a burst makes commits of at most 500 inputs', async () => {
    for (let n = 0; n < 1_100; n++) rig.turns.enqueue(rig.submission(`s${n}`));
    await rig.happened(1_103);
    expect(rig.db.batches).toHaveLength(3);
    expect(await rig.stored()).toBe(1_100);
  });
  describe('after a commit that took 30 ms', () => {
    const request = (name: string): Input => ({ ...rig.submission(name), mayRunAgain: true });
    beforeEach(async () => {
      rig.db.before = () => rig.clock.pass(30);
      rig.turns.enqueue(request('a'));
      rig.turns.enqueue(request('b'));
      await rig.happened(3);
      rig.db.before = () => {};
    });

    test('C223: the next turn waits for as many requests as it has answered', async () => {
      rig.turns.enqueue(request('c'));
      rig.turns.enqueue(rig.submission('of an agent'));
      await new Promise(setImmediate);
      expect(rig.db.batches).toHaveLength(1);
      rig.turns.enqueue(request('d'));
      await rig.happened(7);
      expect(rig.db.batches).toHaveLength(2);
    });
    test('C223: the next turn waits 10 ms at most', async () => {
      rig.turns.enqueue(request('c'));
      await new Promise(setImmediate);
      rig.clock.pass(9);
      await new Promise(setImmediate);
      expect(rig.db.batches).toHaveLength(1);
      rig.clock.pass(1);
      await rig.happened(5);
      expect(rig.db.batches).toHaveLength(2);
    });
  });
  test('C44: a turn without changes makes no commit', async () => {
    rig.turns.wake();
    await rig.happened(1);
    expect(rig.db.batches).toEqual([]);
  });
});

describe('C17: time', () => {
  test('C17: the alarm is set to the next deadline, and the due work is then done', async () => {
    rig.turns.enqueue(joined());
    await eventually(() => rig.clock.alarmMs !== null);
    expect(rig.clock.alarmMs).toBe(rig.clock.nowMs() + LOSS_MS);
    rig.clock.pass(LOSS_MS);
    rig.events = [];
    rig.turns.wake();
    await rig.happened(1);
    expect(rig.events).toEqual(['sent lose-host one']);
  });
  test('C17: after a restart a host has the full time to reconnect, however old its last stored contact', async () => {
    rig.turns.enqueue(joined());
    await rig.happened(1);
    rig.clock.pass(10 * LOSS_MS);
    rig.events = [];
    rig.turns = rig.makeTurns();
    rig.turns.wake();
    await rig.happened(1);
    expect(rig.events).toEqual(['sent ']);
    await eventually(() => rig.clock.alarmMs === rig.clock.nowMs() + LOSS_MS);
  });
});
