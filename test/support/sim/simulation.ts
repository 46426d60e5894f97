/**
 * Owns one run: a world made from a seed, a time of faults, then peace, in which all must settle, and at last the end of
 * everything, of which nothing may be left.
 */
import { createHash } from 'node:crypto';
import { newHost } from '../../../control-plane/core/model/host.ts';
import {
  defaultSchedulerConfig,
  type SchedulerConfig,
} from '../../../control-plane/core/model/scheduler-config.ts';
import { insertHost } from '../../../control-plane/store/cluster/host-rows.ts';
import { AcknowledgementCheck } from './checks/acknowledgements.ts';
import { CapacityCheck } from './checks/capacity.ts';
import { Containers } from './checks/containers.ts';
import { Ledger } from './checks/ledger.ts';
import { LifecycleCheck } from './checks/lifecycle.ts';
import { Logs } from './checks/logs.ts';
import { ProtocolCheck } from './checks/protocol.ts';
import { type FaultName, faultNames } from './faults/fault-names.ts';
import { faults } from './faults/faults.ts';
import type { ContainerScript, SimContainer } from './machine/container.ts';
import type { OutputWay } from './machine/engine.ts';
import { Machine } from './machine/machine.ts';
import { ControlPlane } from './plane/control-plane.ts';
import { Requests } from './plane/requests.ts';
import { Administrator } from './workload/administrator.ts';
import { Users } from './workload/users.ts';
import { resetDisks } from './world/disk.ts';
import { Network } from './world/network.ts';
import { type Change, Store } from './world/store.ts';
import { inWorld, World } from './world/time.ts';

/** Of the machines; they are registered from the start, in this order. */
const MACHINES = ['one', 'two', 'three'];
const SETTLE_STEP_MS = 10_000;
/** Room may be kept for one execution for 10 minutes; all else is over sooner. */
const SETTLE_MS = 20 * 60_000;
/** Coordinators' turns for that: reports of a few hosts every 10 s, and what is left to do. */
const SETTLE_TURNS = 4_000;

export class Simulation {
  readonly world: World;
  readonly ledger = new Ledger();
  readonly network: Network;
  readonly machines: Machine[] = [];
  readonly users: Users;
  readonly administrator: Administrator;
  readonly scheduling: SchedulerConfig;
  readonly containers: Containers;
  readonly logs: Logs;
  /** All that were ever started and not killed. */
  controlPlanes: ControlPlane[] = [];
  /** Undo what faults did. */
  readonly heals = new Set<() => void>();
  /** Whether containers end by themselves. */
  calm = false;
  /** Machines of whose next start nobody hears. */
  readonly vanishing = new Set<string>();
  /** When the time jumped that control planes go by. */
  readonly clockJumpsMs: number[] = [];
  store!: Store;
  readonly #acknowledgements: AcknowledgementCheck;
  readonly #lifecycle: LifecycleCheck;
  readonly #capacity: CapacityCheck;
  #controlPlanes = 0;

  constructor(world: World) {
    this.world = world;
    const { ledger } = this;
    const protocol = new ProtocolCheck(world, ledger);
    this.network = new Network(world, protocol);
    this.#acknowledgements = new AcknowledgementCheck(world, ledger);
    this.#lifecycle = new LifecycleCheck(world, ledger, protocol.lapsed);
    this.#capacity = new CapacityCheck(world, ledger);
    this.containers = new Containers(world, ledger, (machine, container) =>
      this.#isBeyondReach(machine, container),
    );
    this.logs = new Logs(world, ledger, this.containers, {
      moved: this.#lifecycle.moved,
      failed: protocol.failed,
    });
    this.scheduling = schedulingOf(world);
    const requests = new Requests(world, () => this.controlPlanes);
    this.users = new Users({ world, ledger, requests, answers: this.#acknowledgements, logs: this.logs });
    this.administrator = new Administrator({ world, ledger, requests, store: () => this.store });
    world.crash = (process) => {
      const machine = this.machines.find(({ name }) => process.name.startsWith(`${name}/`));
      if (machine) machine.killAgent(process);
      else this.restart(this.controlPlanes.find((one) => one.process === process));
    };
  }

  async run(): Promise<void> {
    const { world } = this;
    this.store = await Store.open((changes) => this.#committed(changes));
    await this.#makeAccounts();
    const requeues = this.scheduling.hostLossPolicy === 'requeue';
    for (const name of MACHINES.slice(0, world.between(requeues ? 2 : 1, 3))) this.#addMachine(name);
    await this.#register();
    this.containers.engines = this.machines.map(({ engine }) => engine);
    this.startControlPlane();
    for (const machine of this.machines) world.after(world.between(0, 3_000), () => machine.startAgent());
    await this.#trouble();
    this.#heal();
    await this.#settle('the faults have stopped', () => [...this.containers.settled(), ...this.#waiting()]);
    for (const how of ['terminate', 'remove'] as const) {
      this.users.endAll(how);
      await this.#settle(`all was asked to ${how}`, () => {
        // What was still on its way to a control plane has become an execution meanwhile.
        this.users.endAll(how);
        return this.#remains(how);
      });
    }
  }

  startControlPlane(): void {
    const { world, network, store, scheduling, ledger } = this;
    const options = { store, scheduling, isRemoved: (hostId: number) => ledger.isRemoved(hostId) };
    this.controlPlanes.push(new ControlPlane(`cp${++this.#controlPlanes}`, world, network, options));
  }

  /** A control plane is killed, and another takes its place soon; never none for long. */
  restart(controlPlane = this.controlPlanes.at(-1), afterMs = this.world.between(10, 5_000)): void {
    if (controlPlane && controlPlane.process.skewMs !== 0) this.clockJumpsMs.push(this.world.nowMs);
    controlPlane?.kill(this.world.chance(0.2));
    this.controlPlanes = this.controlPlanes.filter((one) => one !== controlPlane);
    this.world.after(afterMs, () => {
      if (this.controlPlanes.length === 0) this.startControlPlane();
    });
  }

  /** Of two control planes one goes. */
  end(controlPlane: ControlPlane): void {
    controlPlane.kill();
    this.controlPlanes = this.controlPlanes.filter((one) => one !== controlPlane);
    if (this.controlPlanes.length === 0) this.startControlPlane();
  }

  /** The time of a control plane jumps. */
  jump({ process }: ControlPlane, byMs: number): void {
    process.skewMs += byMs;
    this.clockJumpsMs.push(this.world.nowMs);
  }

  /**
   * Whether two starts of a service may be at work at once: the host of the earlier one was removed, or has two agents, of
   * which one does not know what the other has started; or it is lost, and its
   * agent could not do what its lease wants, or the time was not what it seemed to the control plane twice.
   */
  #isBeyondReach(name: string, { script }: SimContainer): boolean {
    const { world, ledger, scheduling, clockJumpsMs } = this;
    const machine = this.machines.find((one) => one.name === name);
    if (!machine || ledger.isRemoved(machine.hostId) || world.nowMs < machine.doubledUntilMs) return true;
    if (scheduling.hostLossPolicy !== 'requeue') return false;
    const sinceMs = world.nowMs - 2 * scheduling.lostAfterMs - 60_000;
    const jumps = clockJumpsMs.filter((timeMs) => timeMs > sinceMs).length;
    return machine.isTroubled || script.immortalUntilMs > world.nowMs - 30_000 || jumps >= 2;
  }

  /** Its connection says nothing any more, and the container is removed: only what is said again tells of it. */
  #vanish({ name, engine }: Machine, { id }: SimContainer): void {
    for (const link of this.network.links) if (link.machine === name) link.deafen(true, false);
    this.waive(id);
    this.world.after(this.world.between(1, 1_000), () => engine.removeByHand(id));
  }

  /** What a container that somebody removes had written may be lost, as the agent's README says. */
  waive(id: string): void {
    for (const [key, { container }] of this.containers.started)
      if (container.id === id) this.logs.waived.add(key);
  }

  /** Does something, and undoes it after a while, or when all heals. */
  during(forMs: number, undo: () => void): void {
    const heal = () => {
      if (this.heals.delete(heal)) undo();
    };
    this.heals.add(heal);
    this.world.after(forMs, heal);
  }

  #addMachine(name: string): void {
    const { world } = this;
    const machine: Machine = new Machine({
      world,
      network: this.network,
      machine: name,
      hostId: 1 + MACHINES.indexOf(name),
      labels: name === 'two' ? ['ssd'] : [],
      facts: { memoryBytes: world.pick([60, 100]), cores: world.pick([2, 3]), version: 'simulated' },
      output: world.pick<OutputWay>(['linked', 'linked', 'elsewhere', 'unreachable']),
      events: {
        starts: (engine, container) => {
          this.containers.starts(engine, container);
          if (this.vanishing.delete(name)) this.#vanish(machine, container);
          // Of two agents on one machine the earlier may start what nobody hears of.
          if (world.nowMs >= machine.doubledUntilMs) return;
          this.waive(container.id);
          if (container.key) this.logs.doubled.add(`${container.key.service}.${container.key.generation}`);
        },
        trespasses: (engine, id, call) => this.containers.trespasses(engine, id, call),
      },
      scriptFor: () => this.#script(),
      lost: (service) => this.logs.lost.add(service),
      revoked: (one) => {
        const left = [...one.engine.containers.values()].filter(({ key }) => key !== null);
        if (left.length > 0 && world.nowMs >= one.doubledUntilMs)
          world.violate(`the agent of the removed host ${one.name} leaves ${left.map(({ id }) => id)}`);
        this.administrator.join(one);
      },
    });
    const other = machine.engine.add(`another-${name}`, null, well());
    other.state = 'running';
    this.machines.push(machine);
  }

  #script(): ContainerScript {
    const { world } = this;
    const written = { lines: world.between(0, 30), linesMs: world.between(1, 5_000) };
    const kind = this.calm ? 1 : world.random();
    const ends = (
      exitCode: number,
      afterMs: number,
      more: Partial<ContainerScript> = {},
    ): ContainerScript => ({
      ...well(),
      ...written,
      afterMs,
      exitCode,
      ...more,
    });
    if (kind < 0.2) return ends(0, world.between(0, 40_000));
    if (kind < 0.3) return ends(3, world.between(0, 40_000));
    if (kind < 0.33) return ends(137, world.between(0, 20_000), { outOfMemory: true });
    if (kind < 0.38) return ends(world.pick([0, 1]), 0);
    if (kind < 0.4) return ends(127, 1, { startError: 'exec nothing failed: No such file', lines: 0 });
    return { ...well(), ...written };
  }

  async #makeAccounts(): Promise<void> {
    const { db } = this.store;
    await db.query(
      `INSERT INTO quotas (id, name, concurrent_executions, memory, cores) VALUES (2, 'small', 3, 80, 2)`,
    );
    await db.query(
      `INSERT INTO users (id, username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled)
        VALUES (2, 'bob', '', 1, 2, 'internal', 1001, 0, 1)`,
    );
    await db.query('UPDATE quotas SET name = name');
    await db.query('UPDATE users SET email = email');
  }

  async #register(): Promise<void> {
    for (const { name, hostId } of this.machines)
      await this.store.db.batch([insertHost(newHost(hostId, name, 0))]);
    await this.store.publish();
  }

  /** Users act and faults happen, a few kinds in each run. */
  async #trouble(): Promise<void> {
    const { world } = this;
    const kinds = Array.from({ length: world.between(2, 7) }, () => world.pick(faultNames));
    const { hostLossPolicy, lostAfterMs } = this.scheduling;
    if (hostLossPolicy === 'requeue') kinds.push('host cut off');
    world.note(`faults: ${kinds.join(', ')}; lost hosts: ${hostLossPolicy} after ${lostAfterMs} ms`);
    // A host is lost, and then given up, only after a while.
    const pace = hostLossPolicy === 'requeue' ? 2 : 1;
    const untilMs = world.nowMs + pace * world.between(30_000, 100_000);
    await world.run(world.between(0, 6_000));
    while (world.nowMs < untilMs) {
      for (let acts = world.between(0, 3); acts > 0; acts--) this.users.act();
      if (world.chance(0.4)) this.#fault(world.pick(kinds));
      await world.run(pace * world.between(1, 6_000));
    }
  }

  #fault(name: FaultName): void {
    this.world.note(`FAULT ${name}`);
    if (faults[name](this)) this.world.count(`fault: ${name}`);
  }

  #heal(): void {
    this.world.note('PEACE');
    this.calm = true;
    for (const heal of [...this.heals]) heal();
    this.store.faults.length = 0;
    this.vanishing.clear();
    for (const one of [...this.controlPlanes]) one.process.crashIn = null;
    for (const machine of this.machines) {
      if (machine.agent) machine.agent.crashIn = null;
      machine.powerOn();
    }
  }

  async #settle(when: string, problems: () => string[]): Promise<void> {
    const { world } = this;
    const turns = () => world.counts.get('turn') ?? 0;
    const before = turns();
    const untilMs = world.nowMs + SETTLE_MS;
    let found: string[];
    do {
      await world.run(SETTLE_STEP_MS);
      found = problems();
    } while (found.length > 0 && world.nowMs < untilMs);
    world.note(`settled: ${when}`);
    if (found.length > 0) world.violate(`${when}, and after ${SETTLE_MS / 1000} s: ${found.join('; ')}`);
    if (turns() - before > SETTLE_TURNS) world.violate(`${when}: ${turns() - before} turns to settle`);
    world.demandNoViolation();
  }

  /** What neither runs nor has ended nor has a reason to wait. */
  #waiting(): string[] {
    const { ledger } = this;
    const executions = [...ledger.executions.values()];
    const lost = this.machines.filter(
      ({ agent, name }) => !agent || ![...this.network.links].some((link) => link.machine === name),
    );
    // A request to drain it may have come late.
    const drained = this.machines.filter(({ hostId }) => ledger.hosts.get(hostId)?.schedulable === 0);
    for (const machine of drained) this.administrator.open(machine);
    const undone = executions.filter(({ status }) => status === 'starting' || status === 'cleaning up');
    return [
      ...this.#acknowledgements.settled(),
      ...undone.map(({ id, status }) => `execution ${id} is ${status}`),
      ...lost.map(({ name }) => `host ${name} is not connected`),
      ...drained.map(({ name }) => `host ${name} is drained`),
      ...executions.flatMap(({ id, status }) =>
        status === 'queued' && this.#fits(Number(id)) ? [`execution ${id} is queued`] : [],
      ),
      ...this.containers.others(),
    ];
  }

  /** Whether it surely has room: nothing else is placed, and no cap is in its way. */
  #fits(id: number): boolean {
    const { ledger } = this;
    if ([...ledger.services.values()].some((one) => one.placed === 1)) return false;
    const gang = ledger.servicesOf(id).filter((one) => ledger.isEssential(one));
    const needs = gang.map((one) => ledger.needsOf(one));
    const memory = needs.reduce((sum, one) => sum + one.memory, 0);
    const cores = needs.reduce((sum, one) => sum + one.cores, 0);
    const quota = ledger.quotas.get(
      Number(ledger.users.get(Number(ledger.executions.get(id)?.user_id))?.quota_id),
    );
    if (
      [
        [quota?.memory, memory],
        [quota?.cores, cores],
      ].some(([cap, wanted]) => Number(cap) > 0 && Number(wanted) > Number(cap))
    )
      return false;
    return [...ledger.hosts.values()].some(
      (host) =>
        host.removed_ms === null &&
        memory <= Number(host.memory_bytes) &&
        cores <= Number(host.cores) &&
        needs.every(({ labels }) => labels.every((label) => String(host.labels).includes(label))),
    );
  }

  #remains(after: 'terminate' | 'remove'): string[] {
    const { ledger } = this;
    const isLeft =
      after === 'remove' ? () => true : (status: unknown) => status !== 'terminated' && status !== 'error';
    return [
      ...this.containers.settled(),
      ...[...ledger.executions.values()].flatMap(({ id, status }) =>
        isLeft(status) ? [`execution ${id} is ${status}`] : [],
      ),
      ...(after === 'remove' ? this.#leftovers() : []),
    ];
  }

  /** Of containers, marks and logs nothing is left on any machine. */
  #leftovers(): string[] {
    return this.machines.flatMap(({ disk, engine, name, doubledUntilMs }) => [
      ...[...engine.containers.values()].flatMap(({ id, key }) => (key ? [`container ${id}`] : [])),
      ...disk
        .beneath(`/${name}/agent`, true)
        // Marks that another agent of the machine has left go with the next start of one.
        .filter((path) => doubledUntilMs === 0 || path.endsWith('.log'))
        .filter((path) => path.includes('.') && !path.endsWith('/lease.json') && !this.#isExcused(path))
        .map((path) => `${name}: ${path}`),
    ]);
  }

  /** Of a service that moved, the logs on earlier hosts stay until they are too old; likewise what two agents left. */
  #isExcused(path: string): boolean {
    const [, service, generation] = /\/(\d+)\/(\d+)\.log$/.exec(path) ?? [];
    const { moved } = this.#lifecycle;
    const { lost } = this.logs;
    if (moved.has(Number(service)) || lost.has(Number(service))) return true;
    return this.logs.waived.has(`${service}.${generation}`);
  }

  #committed(changes: readonly Change[]): void {
    const placed = this.#capacity.placedBy(changes);
    for (const change of changes) {
      this.#lifecycle.check(change);
      this.ledger.apply(change);
      const { table, id, row } = change;
      if (table === 'executions')
        this.world.note(
          `row: execution ${id} ${row ? `${row.status}${row.ending ? ` ${row.ending}` : ''}` : 'purged'}`,
        );
      if (table === 'services' && row)
        this.world.note(
          `row: service ${id}.${row.generation} ${row.status} ${row.backend_status} on ${row.host_id} ${row.placed ? '' : 'not placed'}`,
        );
    }
    this.#lifecycle.committed();
    this.#capacity.check(changes, placed);
    this.#acknowledgements.check(
      changes.flatMap(({ table, id, row }) =>
        table === 'executions' ? [id] : table === 'services' && row ? [Number(row.execution_id)] : [],
      ),
    );
  }
}

/** In some worlds what a lost host ran starts elsewhere; there hosts are soon lost. */
function schedulingOf(world: World): SchedulerConfig {
  const hostLossPolicy = world.chance(0.4) ? 'requeue' : 'wait';
  const lostAfterMs = world.pick(
    hostLossPolicy === 'requeue' ? [10_000, 20_000, 30_000] : [20_000, 90_000, 90_000],
  );
  return { ...defaultSchedulerConfig, hostLossPolicy, lostAfterMs };
}

/** Runs for ever. */
const well = (): ContainerScript => ({
  ...{ afterMs: null, exitCode: 0, outOfMemory: false, startError: undefined },
  ...{ lines: 0, linesMs: 0, immortalUntilMs: 0 },
});

export interface Run {
  seed: number;
  counts: Record<string, number>;
  trace: readonly string[];
  virtualMs: number;
  failure: string | undefined;
  /** The same for the same trace. */
  traceHash: string;
}

export async function simulate(seed: number): Promise<Run> {
  resetDisks();
  const world = new World(seed);
  let failure: string | undefined;
  await inWorld(world, () => new Simulation(world).run()).catch((error: unknown) => {
    failure =
      error instanceof Error
        ? error.name === 'Violation'
          ? error.message
          : String(error.stack)
        : String(error);
  });
  const { trace, ageMs: virtualMs } = world;
  const traceHash = createHash('sha256').update(trace.join('\n')).digest('hex');
  return { seed, counts: Object.fromEntries(world.counts), trace, virtualMs, failure, traceHash };
}
