/**
 * The live state: executions that have not ended, their services, hosts, users and quotas, and what is
 * derived from them (queues, reservations, services by host, usage by user). It also records what changed,
 * for the commit. Pure: it knows neither the store nor the agents.
 */
import type { Application } from '../../../shared/application-schema.ts';
import type { IdRange } from '../../../shared/protocol/assignment.ts';
import type { Quota, User } from '../accounts/account.ts';
import { addUsage, type ExceededLimit, exceededLimits, noUsage, type Usage } from '../accounts/quota.ts';
import { CredentialIndex } from '../accounts/registry-credentials.ts';
import { type Execution, type ExecutionStatus, isEnded, textWeightOf } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { ResourceDemand } from '../model/resources.ts';
import type { SchedulerConfig } from '../model/scheduler-config.ts';
import { isPreempted, type Service } from '../model/service.ts';
import { FeasibilityCache } from '../scheduling/feasibility.ts';
import { HostIndex } from '../scheduling/host-index.ts';
import { type FairShareKey, Queue } from '../scheduling/queue.ts';
import type { BackfillReservation, SchedulerState } from '../scheduling/scheduler-state.ts';
import { type Changes, type NextIds, noChanges } from './changes.ts';
import { DemandTable } from './demand-table.ts';
import { ElasticQueue } from './elastic-queue.ts';
import { ExecutionCounts } from './execution-counts.ts';
import { retryOverBound } from './queue-membership.ts';

export class Cluster implements SchedulerState {
  readonly executions = new Map<number, Execution>();
  readonly #index = new ServiceIndex();
  readonly hosts = new Map<number, Host>();
  /** Includes deleted users, who are disabled, until the next start. */
  readonly users = new Map<number, User>();
  readonly quotas = new Map<number, Quota>();
  readonly credentials = new CredentialIndex();
  readonly nextIds: NextIds;
  /** Ids of services that were assigned before the database was restored from a copy without them. */
  readonly unknown: IdRange[] = [];
  /** Ids that were skipped without a proof, in the life of the database (lifecycle/restored-database.ts). */
  unprovenIds = 0;
  readonly schedulerConfig: SchedulerConfig;
  /** Queued executions, without those that wait for a retry. */
  readonly queue: Queue<Execution>;
  /** Elastic services without a host, of running executions. */
  readonly elastic: ElasticQueue;
  /** The backfill reservation, due or in effect. */
  reservation: BackfillReservation | null = null;
  readonly feasibility = new FeasibilityCache();
  /** As if all hosts took new services. */
  readonly feasibilityLater = new FeasibilityCache();
  /** The free capacity of the hosts. */
  readonly hostIndex: HostIndex;
  /** Executions that count under their user's quota: from placement to the end or the return to the queue. */
  readonly admitted = new Set<Execution>();
  readonly counts = new ExecutionCounts();
  /** Starts of services that have failed one after the other while their executions ran. In memory only. */
  readonly failedStarts = new WeakMap<Service, number>();
  leastOverBound: number | null = null;
  /** By execution id. */
  readonly deadlines = new Deadlines();
  /** Ids of executions to examine in the next turn. */
  readonly dirty = new Set<number>();
  changes: Changes = noChanges();
  readonly #hostsByName = new Map<string, Host>();
  readonly #usages: UserUsages;
  readonly #demands = new DemandTable<Execution>();
  /**
   * Executions that have been loaded, or have returned to the queue, in this turn (loading.ts), with what the
   * description of the loaded ones says.
   */
  readonly loaded = new Map<Execution, Application | null>();

  constructor(nextIds: NextIds, config: SchedulerConfig) {
    this.nextIds = nextIds;
    this.schedulerConfig = config;
    this.#usages = new UserUsages(config);
    this.queue = new Queue(config.queuePolicy);
    this.elastic = new ElasticQueue(config.queuePolicy);
    this.hostIndex = new HostIndex(config);
  }

  /** The services in memory: those of all executions but the waiting ones. */
  get services(): ReadonlyMap<number, Service> {
    return this.#index.byId;
  }

  /** Adds an execution that was read from the store or has just been submitted. */
  addExecution(execution: Execution): void {
    this.executions.set(execution.id, execution);
    execution.demand = this.#demands.share(execution.demand);
    this.addServices(execution);
    this.counts.moved(execution, null, execution.status);
    if (execution.status !== 'queued' && !isEnded(execution)) this.#count(execution);
    this.dirty.add(execution.id);
  }

  /** Drops an execution that needs no more work. Its row, if it has one, is served from the store. */
  dropExecution(execution: Execution): void {
    this.executions.delete(execution.id);
    this.counts.moved(execution, execution.status, null);
    this.queue.remove(execution);
    this.deadlines.delete(execution.id);
    this.#demands.release(execution.demand);
    this.dropServices(execution);
  }

  addHost(host: Host): void {
    this.hosts.set(host.id, host);
    this.#hostsByName.set(host.name, host);
  }

  /**
   * The services of the host keep their state, except for their reservations on it (hosts/host-removal.ts).
   */
  removeHost(host: Host, nowMs: number): void {
    this.hosts.delete(host.id);
    this.#hostsByName.delete(host.name);
    this.hostIndex.remove(host);
    this.changes.removedHosts.set(host, nowMs);
  }

  setUser(user: User): void {
    const before = this.users.get(user.id);
    this.users.set(user.id, user);
    if (before && before.quotaId !== user.quotaId) this.#requeueUser(user.id);
  }

  setQuota(quota: Quota): void {
    this.quotas.set(quota.id, quota);
    for (const user of this.users.values()) if (user.quotaId === quota.id) this.#requeueUser(user.id);
  }

  quotaOf(userId: number): Quota {
    const quota = this.quotas.get(this.users.get(userId)?.quotaId ?? 0);
    if (!quota) throw new Error(`user ${userId} has no quota`);
    return quota;
  }

  /** Caps of the user's quota that `wanted` would exceed on top of `used`, by default the current usage. */
  exceededLimits(userId: number, wanted: Usage, used: Usage = this.usage(userId)): ExceededLimit[] {
    return exceededLimits(this.quotaOf(userId), used, wanted);
  }

  exceededBy(userId: number, demand: ResourceDemand): ExceededLimit[] {
    return this.exceededLimits(userId, demand.usage(this.schedulerConfig.defaultMemoryBytes));
  }

  /** Placed executions of the user, with the memory limits and reserved cores of their services. */
  usage(userId: number): Readonly<Usage> {
    return this.#usages.of(userId);
  }

  placedOf(userId: number): number {
    return this.#usages.placedOf(userId);
  }

  /** What counts under the bound on placed instances. */
  get placedWeight(): number {
    return this.#usages.placedWeight;
  }

  get elasticCount(): number {
    return this.#usages.elasticCount;
  }

  /** The order of the user's executions among those of other users. */
  fairShareKey(userId: number): FairShareKey {
    return { priority: this.users.get(userId)?.priority ?? 0, executions: this.usage(userId).executions };
  }

  /** Placed elastic services of the user. */
  elasticOf(userId: number): ReadonlySet<Service> {
    return this.#usages.elasticOf(userId);
  }

  /** Whether containers of preempted or evicted services are still on the host. */
  hasDepartingContainers(hostId: number): boolean {
    return this.#index.hasDeparting(hostId);
  }

  hostNamed(name: string): Host | undefined {
    return this.#hostsByName.get(name);
  }

  servicesAt(hostId: number): ReadonlySet<Service> {
    return this.#index.at(hostId);
  }

  setStatus(execution: Execution, status: ExecutionStatus): void {
    this.counts.moved(execution, execution.status, status);
    execution.status = status;
    if (status === 'queued') this.loaded.set(execution, null);
  }

  /** Takes an execution from the queue. From here on it counts under its user's quota. */
  admit(execution: Execution): void {
    this.queue.remove(execution);
    this.#count(execution);
  }

  /** Stops counting the execution under its user's quota, if it was counted. */
  dismiss(execution: Execution): void {
    if (!this.admitted.delete(execution)) return;
    this.#usages.countExecution(execution, -1);
    this.#requeueUser(execution.userId);
  }

  /** Reserves the requirement of a service on a host. */
  place(service: Service, host: Host): void {
    this.recordHost(service, host);
    service.placed = true;
    this.elastic.removeService(service.id);
    this.#reserve(service, 1);
    this.touch(service);
  }

  /**
   * Records the host of the service's container. A placed service must already have its reservation there.
   */
  recordHost(service: Service, host: Host): void {
    this.#index.move(service, host.id);
    this.changes.moved.add(service);
  }

  /** Releases the reservation. The host stays recorded, for the logs. */
  release(service: Service): void {
    if (!service.placed) return;
    this.#reserve(service, -1);
    service.placed = false;
    this.touch(service);
  }

  /** Marks a row to be written, and its execution to be examined. */
  touch(changed: Service | Execution): void {
    if ('services' in changed) {
      this.changes.executions.add(changed);
      this.dirty.add(changed.id);
      return;
    }
    this.changes.services.add(changed);
    this.dirty.add(changed.executionId);
    const execution = this.executions.get(changed.executionId);
    if (!execution || execution.hasServiceRows) return;
    execution.hasServiceRows = true;
    this.changes.newServices.add(execution);
  }

  /** Returns the changes since the last call. */
  takeChanges(): Changes {
    const changes = this.changes;
    this.changes = noChanges();
    return changes;
  }

  /** The user's quota or the bound on placed instances may have room again, after an end or a change. */
  #requeueUser(userId: number): void {
    this.queue.requeueUser(userId);
    this.elastic.requeueUser(userId);
    retryOverBound(this);
  }

  addServices({ services }: Execution): void {
    for (const service of services) {
      this.#index.add(service);
      if (service.placed) this.#reserve(service, 1);
    }
  }

  dropServices({ services }: Execution): void {
    for (const service of services) {
      this.#index.drop(service);
      this.elastic.removeService(service.id);
    }
  }

  #count(execution: Execution): void {
    this.admitted.add(execution);
    this.#usages.countExecution(execution, 1);
  }

  #reserve(service: Service, sign: 1 | -1): void {
    const { requirement, essential, hostId, executionId } = service;
    const execution = this.executions.get(executionId);
    if (!execution) throw new Error(`no execution ${executionId}`);
    const { userId } = execution;
    this.#usages.reserve(userId, service, sign);
    if (sign === -1) this.#requeueUser(userId);
    const host = hostId === null ? undefined : this.hosts.get(hostId);
    if (!host) return;
    host.reservedMemoryBytes += sign * requirement.memoryBytes;
    host.reservedCores += sign * requirement.cores;
    if (!essential) {
      host.elasticMemoryBytes += sign * requirement.memoryBytes;
      host.elasticCores += sign * requirement.cores;
    }
    this.hostIndex.update(host);
  }
}

/** When to examine an execution although nothing happened. */
class Deadlines {
  readonly #timesMs = new Map<number, number>();

  /** Sets a deadline; the earlier one wins if `id` has one already. */
  set(id: number, timeMs: number): void {
    this.#timesMs.set(id, Math.min(this.#timesMs.get(id) ?? Number.POSITIVE_INFINITY, timeMs));
  }

  /** Moves every deadline. */
  move(byMs: number): void {
    for (const [id, timeMs] of this.#timesMs) this.#timesMs.set(id, timeMs + byMs);
  }

  delete(id: number): void {
    this.#timesMs.delete(id);
  }

  /** Removes and returns the ids whose deadline has passed. */
  take(nowMs: number): number[] {
    const due = [...this.#timesMs].filter(([, timeMs]) => timeMs <= nowMs).map(([id]) => id);
    for (const id of due) this.#timesMs.delete(id);
    return due;
  }

  /** The earliest deadline, or null. */
  next(): number | null {
    let next: number | null = null;
    for (const timeMs of this.#timesMs.values()) next = Math.min(next ?? timeMs, timeMs);
    return next;
  }
}

/** The services in memory by id, and by the host of their last start. */
class ServiceIndex {
  readonly byId = new Map<number, Service>();
  readonly #byHost = new Map<number, Set<Service>>();

  add(service: Service): void {
    this.byId.set(service.id, service);
    if (service.hostId !== null) this.at(service.hostId).add(service);
  }

  drop(service: Service): void {
    this.byId.delete(service.id);
    if (service.hostId !== null) this.at(service.hostId).delete(service);
  }

  /** Records another host of the service. */
  move(service: Service, hostId: number): void {
    if (service.hostId !== null) this.at(service.hostId).delete(service);
    service.hostId = hostId;
    this.at(hostId).add(service);
  }

  at(hostId: number): Set<Service> {
    const found = this.#byHost.get(hostId);
    if (found) return found;
    const services = new Set<Service>();
    this.#byHost.set(hostId, services);
    return services;
  }

  /** Whether containers of preempted or evicted services are still on the host. */
  hasDeparting(hostId: number): boolean {
    for (const service of this.at(hostId)) if (isPreempted(service)) return true;
    return false;
  }
}

/** What each user's placed executions and services use, and the weight of all of them. */
class UserUsages {
  placedWeight = 0;
  elasticCount = 0;
  /** Only of users with an execution that was placed at some time. */
  readonly #usages = new Map<number, Usage>();
  readonly #elasticOf = new Map<number, Set<Service>>();
  readonly #placedOf = new Map<number, number>();
  readonly #defaultMemoryBytes: number;

  constructor({ defaultMemoryBytes }: SchedulerConfig) {
    this.#defaultMemoryBytes = defaultMemoryBytes;
  }

  of(userId: number): Readonly<Usage> {
    return this.#usages.get(userId) ?? noUsage();
  }

  /** How many services of the user are placed. */
  placedOf(userId: number): number {
    return this.#placedOf.get(userId) ?? 0;
  }

  /** Placed elastic services of the user. */
  elasticOf(userId: number): ReadonlySet<Service> {
    return this.#elasticOf.get(userId) ?? new Set();
  }

  /** Counts an execution that is placed (1), or no longer (-1). */
  countExecution(execution: Execution, sign: 1 | -1): void {
    this.#usageOf(execution.userId).executions += sign;
    this.placedWeight += sign * textWeightOf(execution);
  }

  /** Counts a service that is placed (1), or no longer (-1). */
  reserve(userId: number, service: Service, sign: 1 | -1): void {
    addUsage(this.#usageOf(userId), service.requirement, this.#defaultMemoryBytes, sign);
    this.placedWeight += sign * service.requirement.weight;
    this.#placedOf.set(userId, this.placedOf(userId) + sign);
    if (service.essential) return;
    this.elasticCount += sign;
    const elastic = this.#elasticOf.get(userId) ?? new Set();
    if (sign === 1) this.#elasticOf.set(userId, elastic.add(service));
    else elastic.delete(service);
  }

  #usageOf(userId: number): Usage {
    const usage = this.#usages.get(userId) ?? noUsage();
    this.#usages.set(userId, usage);
    return usage;
  }
}
