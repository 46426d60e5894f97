import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Coordinator } from '../../../control-plane/coordinator/coordinator.ts';
import { idCode } from '../../../control-plane/coordinator/runtime/id-code.ts';
import { Standby } from '../../../control-plane/coordinator/standby.ts';
import { OperationError, StandbyError } from '../../../control-plane/core/model/errors.ts';
import { newHost } from '../../../control-plane/core/model/host.ts';
import { defaultSchedulerConfig } from '../../../control-plane/core/model/scheduler-config.ts';
import { checkReadiness } from '../../../control-plane/operations/cluster/readiness.ts';
import { insertHost } from '../../../control-plane/store/cluster/host-rows.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { readSighting } from '../../../control-plane/store/db/epoch.ts';
import { closeCodes } from '../../../shared/protocol/close.ts';
import { ModelAgent } from '../../support/agents/model-agent.ts';
import { application } from '../../support/fixtures/applications.ts';
import { FaultyDb, memoryDatabase } from '../../support/hosts/memory-database.ts';
import { CoordinatorRig } from '../../support/rigs/coordinator-rig.ts';
import { TestClock } from '../../support/rigs/test-clock.ts';

/** A control plane with BERTH_STANDBY=on, which may stop without notice. */
class Plane {
  readonly db: FaultyDb;
  readonly clock = new TestClock();
  readonly logged: string[] = [];
  readonly standby: Standby;
  #coordinator: Coordinator | undefined;

  constructor(memory: Db) {
    this.db = new FaultyDb(memory);
    const { db, clock } = this;
    const log = (event: string) => void this.logged.push(event);
    this.standby = new Standby({
      ...{ db, clock, log, monotonicMs: () => clock.nowMs(), checkSchema: async () => {} },
      newCoordinator: (seen, retired) => {
        this.#coordinator = new Coordinator({
          ...{ db, clock, log, idCode, deploymentName: 'test', scheduling: defaultSchedulerConfig, retired },
          claim: { isBeating: true, yields: true, ...(seen && { seen }) },
        });
        return this.#coordinator;
      },
    });
  }

  /** Moves its clock on by half a second. */
  tick(): void {
    const { clock } = this;
    clock.pass(500);
    if (clock.alarmMs !== null && clock.alarmMs <= clock.nowMs()) this.#coordinator?.wake();
  }

  /** An agent of the host `one` connects to the active control plane. */
  agent(): ModelAgent {
    if (!this.#coordinator) throw new Error('this control plane waits');
    return new ModelAgent(this.#coordinator, 1);
  }

  /** Whether agents are refused before the database is read, and why. */
  get refusal(): string | undefined {
    try {
      this.standby.assertAdmitting();
      return undefined;
    } catch (error) {
      expect(error).toBeInstanceOf(OperationError);
      return String(error);
    }
  }

  get isActive(): boolean {
    try {
      this.standby.assertActive();
      return true;
    } catch (error) {
      expect(error).toBeInstanceOf(StandbyError);
      return false;
    }
  }

  async submit(name: string): Promise<number> {
    const description = application();
    const { id } = await this.standby.api.submit({
      ...{ userId: 1, name, application: description, description: JSON.stringify(description) },
    });
    return id;
  }
}

let memory: Db;
beforeEach(async () => {
  memory = await memoryDatabase();
});
afterEach(() => memory.close());

/** Lets the planes that have not stopped run for this long. */
async function pass(ms: number, ...planes: Plane[]): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 500) {
    for (const plane of planes) plane.tick();
    await settle();
  }
}

/** Lets everything finish that waits for no timer. */
async function settle(): Promise<void> {
  for (let round = 0; round < 30; round++) await new Promise((resolve) => setImmediate(resolve));
}

async function started(): Promise<Plane> {
  const plane = new Plane(memory);
  plane.standby.start();
  await settle();
  return plane;
}

/** The active control plane and a standby. */
const both = async () => [await started(), await started()] as const;

test('C251, C252: the first standby on a new database is active at once and moves the counter every 2 s, with nothing to commit; a second one waits for as long as it lives', async () => {
  const first = await started();
  expect(first.isActive).toBe(true);
  const second = await started();
  await pass(120_000, first, second);
  expect([first.isActive, second.isActive]).toEqual([true, false]);
  await expect(second.submit('a')).rejects.toMatchObject({ code: 'unavailable', retryAfterS: 5 });
  expect(await first.submit('a')).toBe(1);
  const { beats, ...rest } = await readSighting(memory);
  expect(rest).toEqual({ epoch: 1, isBeating: true });
  await pass(10_000, first);
  expect(await readSighting(memory)).toEqual({ ...rest, beats: beats + 5 });
});

test('C252: it moves the counter while it still reads its state', async () => {
  const first = new Plane(memory);
  const read = Promise.withResolvers<void>();
  const query = first.db.query.bind(first.db);
  first.db.query = async (sql, args) => {
    if (sql.includes('FROM hosts')) await read.promise;
    return query(sql, args);
  };
  first.standby.start();
  await settle();
  const second = await started();
  await pass(30_000, first, second);
  expect(second.isActive).toBe(false);
  read.resolve();
  await settle();
  expect(await first.submit('a')).toBe(1);
});

test('C253: a standby is active within 12 s after the active one has stopped, with everything that was acknowledged', async () => {
  const [first, second] = await both();
  const id = await first.submit('a');
  await pass(7_000, second);
  expect(second.isActive).toBe(false);
  await pass(5_000, second);
  expect(second.isActive).toBe(true);
  expect((await second.standby.api.summary()).queue.executions).toBe(1);
  expect(await second.submit('b')).toBe(id + 1);
});

test('C254: a database that does not answer shows no standby that the active one has stopped', async () => {
  const [first, second] = await both();
  for (const { db } of [first, second]) db.failing = 'unreachable';
  await pass(60_000, first, second);
  for (const { db } of [first, second]) db.failing = 'no';
  await pass(20_000, first, second);
  expect([first.isActive, second.isActive]).toEqual([true, false]);
  expect(second.logged.filter((event) => event === 'standby.failed')).toHaveLength(1);
});

test('C255: of two standbys only one takes over, and the other one waits', async () => {
  const first = await started();
  const others = [await started(), await started()];
  await first.submit('a');
  await pass(12_000, ...others);
  await pass(30_000, ...others);
  expect(others.filter(({ isActive }) => isActive)).toHaveLength(1);
  expect((await readSighting(memory)).epoch).toBe(2);
});

test('C255: a standby does not take over from one that moves the counter at the last moment', async () => {
  const [first, second] = await both();
  // The claim reads the row once more; the first one comes back right before.
  let looks = 0;
  const query = second.db.query.bind(second.db);
  second.db.query = async (sql, args) => {
    if (sql.startsWith('SELECT epoch, holder')) {
      looks += 1;
      await pass(2_000, first);
    }
    return query(sql, args);
  };
  await pass(10_000, second);
  await pass(500, first, second);
  expect(looks).toBe(1);
  expect((await readSighting(memory)).epoch).toBe(1);
  expect([first.isActive, second.isActive]).toEqual([true, false]);
  expect(await first.submit('a')).toBe(1);
});

test('C256: one that was only slow commits nothing after the takeover and becomes a standby, an idle one by its next beat, and takes over again once the second has stopped', async () => {
  const [first, second] = await both();
  await pass(12_000, second);
  expect(second.isActive).toBe(true);
  await expect(first.submit('late')).rejects.toMatchObject({ code: 'unavailable' });
  await settle();
  expect([first.isActive, second.isActive]).toEqual([false, true]);
  expect((await second.standby.api.summary()).queue.executions).toBe(0);
  // And it takes over again once the second one has stopped.
  await pass(12_000, first);
  expect(first.isActive).toBe(true);
  expect(await first.submit('a')).toBe(1);
  await pass(2_500, second, first);
  expect([second.isActive, first.isActive]).toEqual([false, true]);
});

test('C256: one that cannot reach the database for 8 s disconnects its agents, although it has nothing to commit', async () => {
  const [first, second] = await both();
  first.db.failing = 'unreachable';
  await pass(7_500, first, second);
  expect(first.logged).not.toContain('coordinator.lost');
  await pass(5_000, first, second);
  expect(first.logged).toContain('coordinator.lost');
  expect(second.isActive).toBe(true);
  first.db.failing = 'no';
  await pass(3_000, first, second);
  expect([first.isActive, second.isActive]).toEqual([false, true]);
});

describe('C256: a database that accepts calls and does not answer', () => {
  let answered: PromiseWithResolvers<void>;
  /** From now on, no call of this control plane is answered until `answered` is resolved. */
  function hang({ db }: Plane): void {
    answered = Promise.withResolvers();
    db.before = () => answered.promise;
    db.afterQuery = () => answered.promise;
  }

  beforeEach(() => memory.batch([insertHost(newHost(1, 'one', 0))]));

  test('C256: agents are disconnected after 8 s, although no call has failed, and refused until it answers; then they come back to the same state', async () => {
    const first = await started();
    const { socket } = await first.agent().join();
    expect(first.refusal).toBeUndefined();
    hang(first);
    await pass(7_500, first);
    expect(socket.closeCode).toBeUndefined();
    await pass(2_500, first);
    expect(socket.closeCode).toBe(closeCodes.unavailable.code);
    expect(first.logged.filter((event) => event === 'agents.sent-away')).toHaveLength(1);
    await pass(10_000, first);
    expect(first.refusal).toContain('The database does not answer');
    answered.resolve();
    await pass(2_500, first);
    expect(first.refusal).toBeUndefined();
    const { socket: again } = await first.agent().join();
    await pass(30_000, first);
    expect(again.closeCode).toBeUndefined();
    expect(first.logged).not.toContain('coordinator.lost');
    expect((await readSighting(memory)).epoch).toBe(1);
  });

  test('C256: even during a commit that is not answered, and also an agent whose hello waits for the database', async () => {
    const first = await started();
    const { socket } = await first.agent().join();
    hang(first);
    const submitted = first.submit('a');
    const greeting = first.agent();
    greeting.hello();
    await pass(10_000, first);
    for (const { closeCode } of [socket, greeting.socket])
      expect(closeCode).toBe(closeCodes.unavailable.code);
    answered.resolve();
    expect(await submitted).toBe(1);
  });

  test('C256: one whose calls take 3 s disconnects no agent', async () => {
    const first = await started();
    const { socket } = await first.agent().join();
    first.db.before = () => new Promise((resolve) => void first.clock.after(3_000, resolve));
    await pass(60_000, first);
    expect(socket.closeCode).toBeUndefined();
    expect(first.refusal).toBeUndefined();
  });

  test('C256: without a standby, agents stay connected', async () => {
    const rig = new CoordinatorRig(memory);
    rig.restart(undefined, { isBeating: true });
    const { socket } = await rig.agent().join();
    rig.db.before = () => new Promise(() => {});
    for (let passedMs = 0; passedMs < 20_000; passedMs += 500) {
      rig.clock.pass(500);
      await settle();
    }
    expect(rig.db.batches.length).toBeGreaterThan(8);
    expect(socket.closeCode).toBeUndefined();
  });
});

test('C256: a program that has just changed the schema takes over at once, and the other one waits', async () => {
  const first = await started();
  const newer = new Plane(memory);
  newer.standby.start(true);
  await settle();
  await pass(2_500, first, newer);
  expect([first.isActive, newer.isActive]).toEqual([false, true]);
  expect(await newer.submit('a')).toBe(1);
});

test('C255: a standby never takes over from a holder that moves no counter, and its readiness states that', async () => {
  await memory.query('UPDATE coordinator SET epoch = 4, writer = 4');
  const plane = await started();
  await pass(60_000, plane);
  expect(plane.isActive).toBe(false);
  expect(plane.logged.filter((event) => event === 'standby.cannot-watch')).toHaveLength(1);
  await expect(plane.submit('a')).rejects.toThrow(
    /moves no counter.*restart this one once without BERTH_STANDBY/,
  );
  const { api: coordinator } = plane.standby;
  await expect(checkReadiness({ db: memory, coordinator })).rejects.toThrow(
    'Not ready: this control plane is a standby, and cannot see whether another one is active.',
  );
});

describe('C257: the silence of a host is counted anew, since the clock of the other machine may be ahead', () => {
  /** Half a minute before the clocks of the test begin, and their beginning. */
  const [EARLIER, BEGIN] = [new TestClock().nowMs() - 30_000, new TestClock().nowMs()];
  const silentSinceMs = async () => {
    const [row] = await memory.query('SELECT silent_since_ms FROM hosts');
    return Number(row?.silent_since_ms);
  };

  beforeEach(async () => {
    await memory.batch([insertHost(newHost(1, 'one', 0))]);
    const first = await started();
    await first.submit('a');
    await memory.query('UPDATE hosts SET lost = 0, lease_ms = 90000, silent_since_ms = ?', [EARLIER]);
  });

  test('C257: when a standby takes over', async () => {
    const second = await started();
    await pass(12_000, second);
    expect(await silentSinceMs()).toBeGreaterThanOrEqual(BEGIN);
  });

  test('C257: when a program that has changed the schema takes over at once', async () => {
    const second = new Plane(memory);
    second.standby.start(true);
    await pass(1_000, second);
    expect(await silentSinceMs()).toBeGreaterThanOrEqual(BEGIN);
  });

  test('C257: also if the first commit after the takeover fails', async () => {
    const second = await started();
    second.db.failing = 'refused';
    for (let passed = 0; !second.logged.includes('coordinator.lost'); passed++) {
      expect(passed).toBeLessThan(60);
      await pass(500, second);
    }
    second.db.failing = 'no';
    expect(await silentSinceMs()).toBe(EARLIER);
    await pass(5_000, second);
    expect(await silentSinceMs()).toBeGreaterThanOrEqual(BEGIN);
  });
});
