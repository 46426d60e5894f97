import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Quota } from '../../../../control-plane/core/accounts/account.ts';
import { newServices } from '../../../../control-plane/core/lifecycle/submission.ts';
import type { Execution } from '../../../../control-plane/core/model/execution.ts';
import { listQuotas } from '../../../../control-plane/store/accounts/quotas.ts';
import { listUsers } from '../../../../control-plane/store/accounts/user-rows.ts';
import { loadExecution } from '../../../../control-plane/store/cluster/cluster-rows.ts';
import { type Assignment, keyOf } from '../../../../shared/protocol/assignment.ts';
import type { Observation } from '../../../../shared/protocol/up.ts';
import type { ModelAgent } from '../../../support/agents/model-agent.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import { DEFAULT_MEMORY, isBeyond, loadOf, plus, present } from '../../../support/fixtures/caps.ts';
import { CoordinatorRig, codeOf, seen } from '../../../support/rigs/coordinator-rig.ts';
import { gone, running } from '../../../support/rigs/core-rig.ts';
import { cases, fc } from '../../../support/tools/random-cases.ts';

/** Random schedules on a whole coordinator and its database. Simultaneous inputs may arrive in any order. */
const at = fc.nat({ max: 30 });
const act = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('submit'), user: at, which: at }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('terminate'), which: at }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('carry out') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('assign'), user: at, quota: at }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('cap'),
      quota: at,
      changes: fc.record({
        concurrentExecutions: fc.constantFrom(0, 1, 2, 3),
        memoryBytes: fc.constantFrom(0, 30, 65),
        cores: fc.constantFrom(0, 1, 2),
      }),
    }),
  },
);
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;
const step = fc.record({
  acts: fc.array(act, { minLength: 1, maxLength: 6 }),
  commits: fc.constantFrom('no', 'no', 'no', 'no', 'no', 'refused', 'committed'),
  afterwards: fc.constantFrom('nothing', 'nothing', 'nothing', 'restart', 'reconnect', 'lose the host'),
} as const);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const applications = [
  application(service({ resources: needs(10, 0.1) })),
  application(service({ resources: needs(30, 0.7) })),
  application(service({ total_count: 4, essential_count: 2, resources: needs(15, 0.3) })),
  application(service({ resources: needs(100, 1) })),
];

class Schedule {
  readonly rig: CoordinatorRig;
  readonly submitted: number[] = [];
  /** Ids of the two users and of their quotas. */
  readonly ids = [1, 2];
  readonly #containers = new Map<string, Assignment>();
  #agent: ModelAgent;
  #read = 0;
  #reports = 0;

  constructor(rig: CoordinatorRig) {
    this.rig = rig;
    this.#agent = rig.agent();
  }

  static async begin(): Promise<Schedule> {
    const schedule = new Schedule(await CoordinatorRig.open({ defaultMemoryBytes: DEFAULT_MEMORY }));
    const { coordinator } = schedule.rig;
    const caps = { concurrentExecutions: 2, memoryBytes: 60, cores: 1 };
    await coordinator.changeAccounts({ kind: 'create-quota', quota: { name: 'two', ...caps } });
    const rest = { email: '', roleId: 3, authSource: 'internal', priority: 0, enabled: true };
    await coordinator.changeAccounts({
      kind: 'create-user',
      user: { username: 'two', quotaId: 2, ...rest },
    });
    await schedule.#connect();
    return schedule;
  }

  async run({ acts, commits, afterwards }: Step): Promise<void> {
    const { rig } = this;
    rig.db.failing = commits;
    await Promise.all(acts.map((one) => codeOf(this.#perform(one))));
    rig.db.failing = 'no';
    if (afterwards === 'restart') rig.restart();
    if (afterwards === 'lose the host') {
      this.#agent.drop();
      rig.clock.pass(100_000);
      rig.coordinator.wake();
    }
    await rig.coordinator.ready();
    if (afterwards !== 'nothing' || this.#agent.socket.closeCode !== undefined) await this.#connect();
  }

  async #perform(one: Act): Promise<void> {
    const { coordinator } = this.rig;
    switch (one.do) {
      case 'submit': {
        const described = applications[one.which % applications.length];
        this.submitted.push(await this.rig.submit(described, 'run', this.#id(one.user)));
        return;
      }
      case 'terminate':
        return coordinator.terminate(this.submitted[one.which % this.submitted.length] ?? 0);
      case 'carry out':
        return this.#carryOut();
      case 'assign': {
        const changes = { quotaId: this.#id(one.quota) };
        await coordinator.changeAccounts({ kind: 'update-user', id: this.#id(one.user), changes });
        return;
      }
      case 'cap': {
        const { quota, changes } = one;
        await coordinator.changeAccounts({ kind: 'update-quota', id: this.#id(quota), changes });
      }
    }
  }

  #id(at: number): number {
    return this.ids[at % this.ids.length] ?? 0;
  }

  /** Carries out the messages that the agent has not handled yet, and reports the results. */
  async #carryOut(): Promise<void> {
    const { socket } = this.#agent;
    const observations: Observation[] = [];
    for (; this.#read < socket.sent.length; this.#read++) {
      const message = socket.sent[this.#read];
      if (message?.type === 'start') observations.push(this.#start(message.assignment));
      if (message?.type !== 'stop') continue;
      this.#containers.delete(keyOf(message));
      observations.push({ ...gone, service: message.service, generation: message.generation } as Observation);
    }
    this.#agent.report(observations);
    const reports = ++this.#reports;
    const isAcknowledged = () => socket.all('ack').some(({ sequence }) => sequence >= reports);
    await until(() => isAcknowledged() || socket.closeCode !== undefined);
  }

  #start(assignment: Assignment): Observation {
    this.#containers.set(keyOf(assignment), assignment);
    return seen(assignment, running);
  }

  async #connect(): Promise<void> {
    this.#agent = this.rig.agent({ memoryBytes: 1e6, cores: 1_000 });
    this.#read = 0;
    this.#reports = 0;
    this.#agent.hello([...this.#containers.values()].map((one) => seen(one, running)));
    const { socket } = this.#agent;
    await until(() => socket.all('sync').length > 0);
    const assigned = socket.all('sync').flatMap(({ assignments }) => assignments);
    const wanted = new Set(assigned.map(keyOf));
    const stopped = [...this.#containers].filter(([key]) => !wanted.has(key));
    for (const [key] of stopped) this.#containers.delete(key);
    this.#agent.report([
      ...assigned.map((one) => this.#start(one)),
      ...stopped.map(([, one]) => seen(one, gone)),
    ]);
    this.#reports++;
    await until(() => socket.all('ack').length > 0);
  }

  async state(): Promise<State> {
    const { memory } = this.rig;
    const ids = await memory.query('SELECT id FROM executions');
    const executions = await Promise.all(ids.map(({ id }) => loadExecution(memory, Number(id))));
    const quotas = new Map((await listQuotas(memory, {})).map((one) => [one.id, one]));
    const users = await listUsers(memory, {});
    return {
      executions: executions.filter((one) => one !== undefined).map(withServices),
      caps: new Map(users.map(({ id, quotaId }) => [id, quotas.get(quotaId) as Quota])),
    };
  }
}

/** An execution that waits has no rows of services. */
function withServices(execution: Execution): Execution {
  if (execution.hasServiceRows) return execution;
  return { ...execution, services: newServices(execution, JSON.parse(String(execution.description))) };
}

interface State {
  executions: Execution[];
  caps: ReadonlyMap<number, Quota>;
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('the condition did not become true within 60 s');
    await nextTurn();
  }
}

const placedIn = ({ executions }: State, userId: number) =>
  executions.filter((one) => one.userId === userId).flatMap(({ services }) => services.filter(isPlaced));
const isPlaced = ({ placed }: { placed: boolean }) => placed;

/** Whether the services placed for the user since `before` are within the caps. */
function isWithin(before: State, after: State, userId: number, caps: Quota): boolean {
  const known = new Set(placedIn(before, userId).map(({ id }) => id));
  const fresh = placedIn(after, userId).filter(({ id }) => !known.has(id));
  const started = fresh.filter(({ essential }) => essential).length > 0 ? 1 : 0;
  const added = loadOf(started, fresh);
  const load = present(after.executions, userId);
  return !isBeyond(caps, load, added);
}

/**
 * The caps of a user. If they changed during a step, the widest of them, because the order of the changes is
 * unknown.
 */
const capsDuring = (userId: number, acts: readonly Act[], before: State, after: State): Quota => {
  const changed = acts.some((one) => one.do === 'cap' || one.do === 'assign');
  const now = after.caps.get(userId) as Quota;
  if (!changed) return now;
  const set = acts.flatMap((one) => (one.do === 'cap' ? [{ ...now, ...one.changes }] : []));
  const all = [...before.caps.values(), ...after.caps.values(), ...set];
  return {
    ...now,
    concurrentExecutions: widest(all.map((one) => one.concurrentExecutions)),
    memoryBytes: widest(all.map((one) => one.memoryBytes)),
    cores: widest(all.map((one) => one.cores)),
  };
};

/** 0 means no cap. */
const widest = (caps: readonly number[]): number => (caps.includes(0) ? 0 : Math.max(...caps));

function mustWait({ executions, caps }: State, execution: Execution): boolean {
  const wanted = loadOf(
    1,
    execution.services.filter(({ essential }) => essential),
  );
  return isBeyond(
    caps.get(execution.userId) as Quota,
    plus(present(executions, execution.userId), wanted),
    wanted,
  );
}

test("C52: no schedule of submissions, ends, changes, failed commits, restarts and lost agents places services beyond a user's caps or delays an execution that fits", async () => {
  let placed = 0;
  let waiting = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20, size: 'max' }), async (steps) => {
      const schedule = await Schedule.begin();
      let before = await schedule.state();
      for (const one of steps) {
        await schedule.run(one);
        const after = await schedule.state();
        for (const userId of schedule.ids) {
          expect(isWithin(before, after, userId, capsDuring(userId, one.acts, before, after))).toBe(true);
          placed += placedIn(after, userId).length;
        }
        for (const execution of after.executions.filter(({ status }) => status === 'queued')) {
          expect(mustWait(after, execution)).toBe(true);
          waiting++;
        }
        before = after;
      }
      await schedule.rig.memory.close();
    }),
    cases(8),
  );
  expect(placed).toBeGreaterThan(50);
  expect(waiting).toBeGreaterThan(20);
});
