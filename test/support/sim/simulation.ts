/**
 * One simulated run. Its world is made from a seed. Users act while faults happen; then the faults stop and
 * everything must settle; last, everything is deleted and nothing may be left.
 */
import { sameKey } from '../../../agent/services/plan.ts';
import type { SchedulerConfig } from '../../../control-plane/core/model/scheduler-config.ts';
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import { AcknowledgementCheck } from './checks/acknowledgements.ts';
import { AuditCheck } from './checks/audit.ts';
import { CapacityCheck } from './checks/capacity.ts';
import { ContainerCheck } from './checks/containers.ts';
import { ConvergenceCheck } from './checks/convergence.ts';
import { GivenIdsCheck } from './checks/given-ids.ts';
import { HostContactCheck } from './checks/hosts/host-contact.ts';
import { HostOffersCheck } from './checks/hosts/host-offers.ts';
import { LapseCheck } from './checks/hosts/lapses.ts';
import { Ledger } from './checks/ledger.ts';
import { LifecycleCheck } from './checks/lifecycle.ts';
import { LogCheck } from './checks/logs.ts';
import { ProgressCheck } from './checks/progress.ts';
import { ProtocolCheck } from './checks/protocol.ts';
import { QueueBoundsCheck } from './checks/queue-bounds.ts';
import { ReportedStarts } from './checks/reported-starts.ts';
import { RestartCheck } from './checks/restarts.ts';
import { SecretsCheck } from './checks/secrets.ts';
import { checkTurnWaits } from './checks/turn-waits.ts';
import { FaultInjector } from './faults/fault-injector.ts';
import type { FaultName } from './faults/fault-names.ts';
import type { StandbyFaults } from './faults/standby-faults.ts';
import type { SimContainer } from './machine/container.ts';
import type { OutputLocation } from './machine/engine.ts';
import { Machine } from './machine/machine.ts';
import { ControlPlane } from './plane/control-plane.ts';
import { GatewayCalls } from './plane/gateway-calls.ts';
import { Gateways } from './plane/gateways.ts';
import { addAccounts, randomKeepMs, randomSchedulerConfig, registerHosts } from './plane/initial-state.ts';
import { Requests } from './plane/requests.ts';
import { TakeoverCheck } from './plane/takeover-check.ts';
import { Administrator } from './workload/administrator.ts';
import { oversized, small } from './workload/applications.ts';
import { endlessScript, randomScript } from './workload/container-scripts.ts';
import { StreamUsers, smallStreamRules } from './workload/stream-users.ts';
import { administrator, Users } from './workload/users.ts';
import { Network } from './world/network.ts';
import { type Change, changeText, executionsIn, Store } from './world/store.ts';
import type { World } from './world/time.ts';

/** Names of the machines. Those that a run uses are registered from its start, in this order. */
const MACHINES = ['one', 'two', 'three'];
const SETTLE_STEP_MS = 10_000;
/** Executions that wait while one user requests much at a moment. */
const BURST_WAITING = 10;
/** A backfill reservation may last 10 minutes; nothing else takes longer. */
const MAX_SETTLE_MS = 20 * 60_000;
/** What the loss of a host may take beyond its time. */
const LOSS_SLACK_MS = 10_000;
/** Covers the reports of a few hosts every 10 s and the remaining work. */
const MAX_SETTLE_TURNS = 4_000;

export class Simulation {
  readonly world: World;
  readonly ledger = new Ledger();
  readonly network: Network;
  readonly machines: Machine[] = [];
  readonly users: Users;
  readonly faults: FaultInjector;
  /** Undefined in worlds whose coordinators hold the connections of agents themselves. */
  readonly gateways: Gateways | undefined;
  readonly administrator: Administrator;
  readonly scheduling: SchedulerConfig;
  /** Undefined in worlds without streams. */
  readonly streams: StreamUsers | undefined;
  readonly #keepMs: number | null;
  readonly containers: ContainerCheck;
  readonly logs: LogCheck;
  /** Control planes that have been started and not killed. */
  controlPlanes: ControlPlane[] = [];
  /** Machines whose next container is removed right after its start, before any report arrives. */
  readonly removeOnStart = new Set<string>();
  /** Times at which a clock of a control plane jumped, or one with a different clock took over. */
  readonly clockJumpsMs: number[] = [];
  store!: Store;
  readonly #starts = new ReportedStarts();
  readonly #contact: HostContactCheck;
  readonly #lapses: LapseCheck;
  readonly #protocol: ProtocolCheck;
  readonly #acknowledgements: AcknowledgementCheck;
  readonly #secrets: SecretsCheck;
  readonly #convergence: ConvergenceCheck;
  readonly #lifecycle: LifecycleCheck;
  readonly #capacity: CapacityCheck;
  readonly #takeovers: TakeoverCheck;
  /** Checks of whole commits, before the ledger has them. */
  readonly #ofCommits: readonly { check(changes: readonly Change[]): void }[];
  readonly #standby: StandbyFaults | undefined;
  readonly #requests: Requests;
  #controlPlanes = 0;
  /** The control plane that took over last. */
  #active: ControlPlane | undefined;
  /** After a kill no control plane can start before. */
  #downUntilMs = 0;
  /** The most that the clock of a control plane was ahead so far. */
  #aheadMs = 0;
  /** The most that the clock of a control plane was ahead or behind so far. */
  #wrongByMs = 0;

  constructor(
    world: World,
    alwaysFaults: readonly FaultName[] = [],
    standby?: StandbyFaults,
    hasStreams = false,
  ) {
    this.world = world;
    this.#standby = standby;
    this.#takeovers = new TakeoverCheck(world, () => this.store);
    this.faults = new FaultInjector(this, alwaysFaults);
    const { ledger } = this;
    const starts = this.#starts;
    const scheduling = randomSchedulerConfig(world);
    this.#keepMs = randomKeepMs(world);
    this.#lapses = new LapseCheck(world, ledger, starts);
    const mayMiscount = (sinceMs: number) => this.#mayMiscount(sinceMs);
    this.#contact = new HostContactCheck(world, ledger, scheduling.lostAfterMs, mayMiscount);
    this.#protocol = new ProtocolCheck({
      ...{ world, ledger, starts, contact: this.#contact },
      hasContainer: (machine, key) => this.#hasContainer(machine, key),
      streams: () => this.streams?.check,
    });
    this.network = new Network(world, this.#protocol);
    const calls = new GatewayCalls(world, world.seed);
    // Control planes with a standby are self-hosted, and have no gateways.
    if (!standby && calls.chance(1 / 2))
      this.gateways = new Gateways(
        ...([world, this.network, calls, () => this.#reached().at(-1)] as const),
        scheduling.lostAfterMs,
      );
    if (hasStreams)
      this.streams = new StreamUsers({
        ...{ world, ledger, store: () => this.store, hasStopped: () => this.faults.hasStopped },
        gateways: this.gateways,
      });
    this.scheduling = this.streams ? { ...scheduling, streams: smallStreamRules } : scheduling;
    this.#acknowledgements = new AcknowledgementCheck(world, ledger, {
      ...{ keepMs: this.#keepMs, aheadMs: () => this.#aheadMs, wrongByMs: () => this.#wrongByMs },
    });
    this.#secrets = new SecretsCheck(world, ledger);
    this.#lifecycle = new LifecycleCheck(world, ledger, starts);
    this.#capacity = new CapacityCheck(world, ledger);
    this.containers = new ContainerCheck(
      world,
      ledger,
      (machine, container) => this.#mayRunTwice(machine, container),
      (name) => this.machines.some((one) => one.name === name && world.nowMs < one.twoAgentsUntilMs),
    );
    this.logs = new LogCheck(world, ledger, this.containers, {
      moved: this.#lifecycle.moved,
      failed: starts.failed,
    });
    this.#convergence = new ConvergenceCheck({
      ...{ world, ledger, acknowledgements: this.#acknowledgements, containers: this.containers },
      ...{ lifecycle: this.#lifecycle, logs: this.logs },
      progress: new ProgressCheck(ledger, this.scheduling.bounds),
      ...{ machines: this.machines, links: this.network.links },
    });
    const bounds = new QueueBoundsCheck(world, ledger, this.scheduling.bounds);
    const audit = new AuditCheck(world, ledger);
    this.#ofCommits = [
      bounds,
      new GivenIdsCheck(world, this.scheduling.bounds.unprovenIds),
      new HostOffersCheck(world),
      this.#takeovers,
      audit,
      new RestartCheck(world, ledger, this.clockJumpsMs, mayMiscount),
    ];
    const requests = new Requests(world, () => this.#reached());
    this.#requests = requests;
    this.users = new Users({
      world,
      ledger,
      requests,
      acknowledgements: this.#acknowledgements,
      audit,
      logs: this.logs,
      bounds,
    });
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
    await addAccounts(this.store);
    const requeues = this.scheduling.hostLossPolicy === 'requeue';
    for (const name of MACHINES.slice(0, world.between(requeues ? 2 : 1, 3))) this.#addMachine(name);
    await registerHosts(this.store, this.machines);
    this.containers.engines = this.machines.map(({ engine }) => engine);
    for (let missing = this.#standby?.planes ?? 1; missing > 0; missing--) this.startControlPlane();
    this.#standby?.begin(this);
    for (const machine of this.machines) world.after(world.between(0, 3_000), () => machine.startAgent());
    this.streams?.begin(this.#requests);
    await this.faults.run();
    this.faults.stop();
    await this.#settle('the faults have stopped', () => {
      for (const machine of this.#convergence.drained()) this.administrator.open(machine);
      return [...this.#convergence.unsettled(), ...(this.streams?.check.open() ?? [])];
    });
    for (const action of ['terminate', 'remove'] as const) {
      this.users.endAll(action);
      await this.#settle(`each execution was sent ${action}`, () => {
        // Requests that were under way earlier may have created further executions.
        this.users.endAll(action);
        return [...this.#convergence.remains(action), ...(this.streams?.check.open() ?? [])];
      });
    }
    await this.#burst();
    await this.#loseHost();
  }

  /** One user requests much at a moment, while many executions wait whose descriptions are not in memory. */
  async #burst(): Promise<void> {
    const { world, ledger, users } = this;
    const waiting = () => [...ledger.executions.values()].filter(({ status }) => status === 'queued');
    await this.#hasControlPlane();
    for (let at = 0; at < BURST_WAITING; at++) void users.submit(oversized, 1);
    await this.#settle('executions wait', () =>
      waiting().length >= BURST_WAITING ? [] : [`${waiting().length} executions wait`],
    );
    const ready = () => world.counts.get('log: coordinator.ready') ?? 0;
    const before = ready();
    this.restart();
    await this.#settle('it is restarted', () => (ready() > before ? [] : ['no control plane is ready']));
    await checkTurnWaits({
      ...{ world, requests: this.#requests, user: administrator },
      waiting: waiting().map(({ id }) => Number(id)),
      submit: () => users.submit(small, 2, { ...administrator, user: { ...administrator.user, id: 2 } }),
    });
    this.users.endAll('remove');
    await this.#settle('the burst is over', () => {
      this.users.endAll('remove');
      return this.#convergence.remains('remove');
    });
  }

  /** One that is down for long starts by itself, and takes over by itself. */
  #hasControlPlane(): Promise<void> {
    return this.#settle('all is removed', () =>
      this.controlPlanes.some(({ isWaiting }) => !isWaiting) ? [] : ['no control plane is active'],
    );
  }

  /** A host that dies when nothing is under way, and all that can sleep does, is lost in time (C17, P180). */
  async #loseHost(): Promise<void> {
    const { world, ledger, gateways, machines } = this;
    await this.#hasControlPlane();
    const machine = machines.find(({ hostId, powered }) => powered && !ledger.isRemoved(hostId));
    if (!machine) return;
    machine.powerOff();
    for (const gateway of gateways?.all ?? []) gateway.sleep();
    this.controlPlanes.at(-1)?.sleep();
    await world.run(this.scheduling.lostAfterMs + LOSS_SLACK_MS);
    // An administrator may still remove it.
    if (!ledger.isRemoved(machine.hostId) && ledger.hosts.get(machine.hostId)?.lost !== 1)
      world.violate(
        `${machine.name} has had no power for ${this.scheduling.lostAfterMs} ms, and is not lost`,
      );
    world.demandNoViolation();
  }

  startControlPlane(isReached = false): void {
    const { world, network, store, scheduling, ledger } = this;
    const place = this.#standby?.place(this.controlPlanes);
    this.#noteClock(place?.skewMs ?? 0);
    const options = {
      ...{ store, scheduling, keepMs: this.#keepMs, isRemoved: (hostId: number) => ledger.isRemoved(hostId) },
      standby: place,
      retired: () => world.after(0, () => this.#restartRetired()),
      takesOver: () => this.#takeovers.began(),
      ready: (one: ControlPlane, epoch: number) => {
        if (one.process.skewMs !== (this.#active?.process.skewMs ?? 0)) this.clockJumpsMs.push(world.nowMs);
        this.#active = one;
        if (this.#standby) this.#takeovers.ready(one, epoch);
      },
      killed: (one: ControlPlane) =>
        this.#takeovers.killed(
          one,
          this.controlPlanes.filter(({ isWaiting }) => isWaiting),
        ),
      ...{ gateways: this.gateways, isReached },
    };
    this.controlPlanes.push(new ControlPlane(`cp${++this.#controlPlanes}`, world, network, options));
  }

  /** Kills a control plane, by default the latest that is active, and starts another after `afterMs`. */
  restart(
    controlPlane = this.controlPlanes.findLast(({ isWaiting }) => !isWaiting) ?? this.controlPlanes.at(-1),
    afterMs = this.world.between(10, 5_000),
  ): void {
    // It resumes from what it has saved, as without the kill.
    if (controlPlane?.isAsleep) return;
    controlPlane?.kill(this.world.chance(0.2));
    this.controlPlanes = this.controlPlanes.filter((one) => one !== controlPlane);
    this.#downUntilMs = this.world.nowMs + afterMs;
    const alarmMs = (this.gateways && controlPlane?.alarmMs) ?? 0;
    this.world.after(Math.max(this.#downUntilMs, alarmMs) - this.world.nowMs, () => this.#startMissing());
  }

  /** The control planes that an event reaches. One that is an object begins then. */
  #reached(): readonly ControlPlane[] {
    const isDown = this.world.nowMs < this.#downUntilMs;
    if (this.gateways && this.controlPlanes.length === 0 && !isDown) this.startControlPlane(true);
    return this.controlPlanes;
  }

  /**
   * Kills one of two control planes. If the other has retired, an operator restarts it: the earlier one may
   * have taken over last, once the database was available.
   */
  end(controlPlane: ControlPlane): void {
    controlPlane.kill();
    this.controlPlanes = this.controlPlanes.filter((one) => one !== controlPlane);
    this.#startMissing();
    this.#restartRetired();
  }

  #startMissing(): void {
    if (this.controlPlanes.length < (this.#standby?.planes ?? 1)) this.startControlPlane();
  }

  /** The last control plane may find out that it has retired only after the other one was killed. */
  #restartRetired(): void {
    const [one, other] = this.controlPlanes;
    if (one?.isRetired && !other) this.restart(one);
  }

  jump({ process }: ControlPlane, byMs: number): void {
    process.skewMs += byMs;
    this.#noteClock(process.skewMs);
    this.clockJumpsMs.push(this.world.nowMs);
  }

  /**
   * Whether a clock was set since then, and nothing measured by how much: an object on workerd has no other
   * clock, and a standby none of the active control plane's.
   */
  #mayMiscount(sinceMs: number): boolean {
    const mayBe = this.gateways !== undefined || this.#standby !== undefined;
    return mayBe && this.clockJumpsMs.some((jumpMs) => jumpMs >= sinceMs);
  }

  #noteClock(skewMs: number): void {
    this.#aheadMs = Math.max(this.#aheadMs, skewMs);
    this.#wrongByMs = Math.max(this.#wrongByMs, Math.abs(skewMs));
  }

  /**
   * True if the documents allow two starts of a service at once (TEST-2): the host of the earlier start was
   * removed or has two agents. Where lost hosts are requeued, also if the agent could not act when its lease
   * expired, or if the clock of the control plane jumped twice.
   */
  #mayRunTwice(name: string, { script }: SimContainer): boolean {
    const { world, ledger, scheduling, clockJumpsMs } = this;
    const machine = this.machines.find((one) => one.name === name);
    if (!machine || ledger.isRemoved(machine.hostId) || world.nowMs < machine.twoAgentsUntilMs) return true;
    if (scheduling.hostLossPolicy !== 'requeue') return false;
    const sinceMs = world.nowMs - 2 * scheduling.lostAfterMs - 60_000;
    const jumps = clockJumpsMs.filter((timeMs) => timeMs > sinceMs).length;
    return (
      machine.isImpaired ||
      script.immortalUntilMs > world.nowMs - 30_000 ||
      (jumps >= 2 && this.#mayMiscount(sinceMs))
    );
  }

  /**
   * Removes the container after silencing its connection. The control plane learns of the start only if the
   * agent reports it again.
   */
  #removeUnreported({ name, engine }: Machine, { id }: SimContainer): void {
    for (const link of this.network.links) if (link.machine === name) link.blackhole(true, false);
    this.waive(id);
    this.world.after(this.world.between(1, 1_000), () => engine.runtime.removeByHand(id));
  }

  #hasContainer(name: string, key: ServiceKey): boolean {
    const machine = this.machines.find((one) => one.name === name);
    if (!machine || machine.isImpaired) return false;
    return [...machine.engine.containers.values()].some((one) => one.key && sameKey(one.key, key));
  }

  /** Waives the log of a container that was removed by hand: its output may be lost (LOG-4). */
  waive(id: string): void {
    for (const [key, { container }] of this.containers.started)
      if (container.id === id) this.logs.waived.add(key);
  }

  /** Waives the log of a container whose output two agents may copy into one file. */
  #expectTwoCopies({ id, key }: SimContainer): void {
    this.waive(id);
    if (key) this.logs.copiedTwice.add(`${key.service}.${key.generation}`);
  }

  #addMachine(name: string): void {
    const { world } = this;
    const size = { memoryBytes: world.pick([60, 100]), cores: world.pick([2, 3]) };
    const machine: Machine = new Machine({
      world,
      network: this.network,
      machine: name,
      hostId: 1 + MACHINES.indexOf(name),
      labels: name === 'two' ? ['ssd'] : [],
      urls: this.#standby?.urls,
      facts: { ...size, version: 'simulated', id: 'simulated' },
      connect: this.streams?.connect.bind(this.streams),
      output: world.pick<OutputLocation>(['linked', 'linked', 'elsewhere', 'unreachable']),
      events: {
        starts: (engine, container) => {
          this.containers.starts(engine, container);
          this.#lapses.started(machine);
          if (this.removeOnStart.delete(name)) this.#removeUnreported(machine, container);
          // The earlier of two agents on one machine may start a container that no control plane learns of.
          if (world.nowMs < machine.twoAgentsUntilMs) this.#expectTwoCopies(container);
        },
        foreignCall: (engine, id, call) => this.containers.foreignCall(engine, id, call),
      },
      duplicated: ({ engine, hostId }) => {
        this.#starts.leasesUnknown(hostId);
        for (const container of engine.containers.values()) this.#expectTwoCopies(container);
      },
      scriptFor: (assignment) => randomScript(world, this.faults.hasStopped, assignment),
      lost: (service) => this.logs.lost.add(service),
      lapsed: (one, services) => this.#lapses.lapsed(one, services),
      revoked: (one) => {
        if (!this.ledger.isRemoved(one.hostId))
          world.violate(`the agent of host ${one.hostId} was told that it was removed, but it was not`);
        const left = [...one.engine.containers.values()].filter(({ key }) => key !== null);
        if (left.length > 0 && world.nowMs >= one.twoAgentsUntilMs)
          world.violate(
            `the agent of the removed host ${one.name} left the containers ${left.map(({ id }) => id)}`,
          );
        this.administrator.join(one);
      },
    });
    const other = machine.engine.runtime.add(`another-${name}`, null, endlessScript());
    other.state = 'running';
    this.machines.push(machine);
  }

  async #settle(when: string, problems: () => string[]): Promise<void> {
    const { world } = this;
    const turns = () => world.counts.get('turn') ?? 0;
    const before = turns();
    const untilMs = world.nowMs + MAX_SETTLE_MS;
    let found: string[];
    await this.#secrets.check(this.store.db);
    do {
      await world.run(SETTLE_STEP_MS);
      found = problems();
    } while (found.length > 0 && world.nowMs < untilMs);
    world.note(`settled: ${when}`);
    if (found.length > 0) world.violate(`${when}, but ${MAX_SETTLE_MS / 1000} s later ${found.join('; ')}`);
    if (turns() - before > MAX_SETTLE_TURNS)
      world.violate(`${when}: ${turns() - before} turns to settle, at most ${MAX_SETTLE_TURNS} are allowed`);
    world.demandNoViolation();
  }

  #committed(changes: readonly Change[]): void {
    const placed = this.#capacity.placementsIn(changes);
    for (const one of this.#ofCommits) one.check(changes);
    for (const change of changes) {
      this.#lifecycle.check(change);
      this.#contact.check(change);
      this.#acknowledgements.checkDeletion(change);
      this.#acknowledgements.checkSubmission(change);
      this.ledger.apply(change);
      if (change.table === 'hosts' && change.row) this.#protocol.hostChanged(change.id, change.row.lease_ms);
      const line = changeText(change);
      if (line !== undefined) this.world.note(line);
    }
    this.#lifecycle.committed();
    this.#capacity.check(changes, placed);
    this.#acknowledgements.check(executionsIn(changes));
  }
}
