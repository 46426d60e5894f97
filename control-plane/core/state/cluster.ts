/**
 * The live state: executions that have not ended, their services, hosts, users and quotas, and what is
 * derived from them (queues, reservations, services by host, usage by user). It also records what changed,
 * for the commit. Pure: it knows neither the store nor the agents.
 */
import type { IdRange } from '../../../shared/protocol/assignment.ts';
import type { Quota, User } from '../accounts/account.ts';
import { addUsage, type ExceededLimit, exceededLimits, noUsage, type Usage } from '../accounts/quota.ts';
import { type Execution, isEnded } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { SchedulerConfig } from '../model/scheduler-config.ts';
import { isPreempted, type Service } from '../model/service.ts';
import { FeasibilityCache } from '../scheduling/feasibility.ts';
import { HostIndex } from '../scheduling/host-index.ts';
import { type FairShareKey, Queue } from '../scheduling/queue.ts';
import { demandOf, gangDemand } from '../scheduling/resource-demand.ts';
import type {
  BackfillReservation,
  QueuedElasticService,
  SchedulerState,
} from '../scheduling/scheduler-state.ts';
import { type Changes, type NextIds, noChanges } from './changes.ts';
import { Deadlines } from './deadlines.ts';

export class Cluster implements SchedulerState {
  readonly executions = new Map<number, Execution>();
  readonly services = new Map<number, Service>();
  readonly hosts = new Map<number, Host>();
  /** Includes deleted users, who are disabled, until the next start. */
  readonly users = new Map<number, User>();
  readonly quotas = new Map<number, Quota>();
  readonly nextIds: NextIds;
  /** Ids of services that were assigned before the database was restored from a copy without them. */
  readonly unknown: IdRange[] = [];
  readonly schedulerConfig: SchedulerConfig;
  /** Queued executions, without those that wait for a retry. */
  readonly queue: Queue<Execution>;
  /** Elastic services without a host, of running executions. */
  readonly elastic: Queue<QueuedElasticService>;
  /** The backfill reservation, due or in effect. */
  reservation: BackfillReservation | null = null;
  readonly feasibility = new FeasibilityCache();
  /** The free capacity of the hosts. */
  readonly hostIndex: HostIndex;
  /** Executions that count under their user's quota: from placement to the end or the return to the queue. */
  readonly admitted = new Set<Execution>();
  /** How many elastic services are placed. */
  elasticCount = 0;
  /** By execution id. */
  readonly deadlines = new Deadlines();
  /**
   * Wall-clock time of the previous turn. Infinity before the first turn, because the previous coordinator's
   * clock may have been ahead.
   */
  lastTurnMs = Number.POSITIVE_INFINITY;
  /** Ids of executions to examine in the next turn. */
  readonly dirty = new Set<number>();
  changes: Changes = noChanges();
  readonly #hostsByName = new Map<string, Host>();
  readonly #servicesByHost = new Map<number, Set<Service>>();
  /** By user; only of users with an execution that was placed at some time. */
  readonly #usages = new Map<number, Usage>();
  /** Placed elastic services, by user. */
  readonly #elasticOf = new Map<number, Set<Service>>();

  constructor(nextIds: NextIds, config: SchedulerConfig) {
    this.nextIds = nextIds;
    this.schedulerConfig = config;
    this.queue = new Queue(config.queuePolicy);
    this.elastic = new Queue(config.queuePolicy);
    this.hostIndex = new HostIndex(config);
  }

  /** Adds an execution that was read from the store or has just been submitted. */
  addExecution(execution: Execution): void {
    this.executions.set(execution.id, execution);
    for (const service of execution.services) {
      this.services.set(service.id, service);
      if (service.hostId !== null) this.#at(service.hostId).add(service);
      if (service.placed) this.#reserve(service, 1);
    }
    if (execution.status !== 'queued' && !isEnded(execution)) this.#count(execution);
    this.dirty.add(execution.id);
  }

  /** Drops an execution that needs no more work. Its row, if it has one, is served from the store. */
  dropExecution(execution: Execution): void {
    this.executions.delete(execution.id);
    this.queue.remove(execution.id);
    this.deadlines.delete(execution.id);
    for (const service of execution.services) {
      this.services.delete(service.id);
      this.elastic.remove(service.id);
      if (service.hostId !== null) this.#at(service.hostId).delete(service);
    }
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

  /** Placed executions of the user, and the reservations of their services. */
  usage(userId: number): Readonly<Usage> {
    return this.#usages.get(userId) ?? noUsage();
  }

  /** The order of the user's executions among those of other users. */
  fairShareKey(userId: number): FairShareKey {
    return { priority: this.users.get(userId)?.priority ?? 0, executions: this.usage(userId).executions };
  }

  /** Placed elastic services of the user. */
  elasticOf(userId: number): ReadonlySet<Service> {
    return this.#elasticOf.get(userId) ?? new Set();
  }

  /** Whether containers of preempted or evicted services are still on the host. */
  hasDepartingContainers(hostId: number): boolean {
    for (const service of this.#at(hostId)) if (isPreempted(service)) return true;
    return false;
  }

  /** Called when a container is gone: executions with services on the host may have waited for that. */
  wakeWaitingFor(host: Host): void {
    for (const { executionId } of this.#at(host.id)) this.dirty.add(executionId);
  }

  hostNamed(name: string): Host | undefined {
    return this.#hostsByName.get(name);
  }

  servicesAt(hostId: number): ReadonlySet<Service> {
    return this.#at(hostId);
  }

  /** Takes an execution from the queue. From here on it counts under its user's quota. */
  admit(execution: Execution): void {
    this.queue.remove(execution.id);
    this.#count(execution);
  }

  /** Stops counting the execution under its user's quota, if it was counted. */
  dismiss(execution: Execution): void {
    if (!this.admitted.delete(execution)) return;
    this.#usageOf(execution.userId).executions -= 1;
    this.#requeueUser(execution.userId);
  }

  /** Reserves the requirement of a service on a host. */
  place(service: Service, host: Host): void {
    this.recordHost(service, host);
    service.placed = true;
    this.elastic.remove(service.id);
    this.#reserve(service, 1);
    this.touch(service);
  }

  /**
   * Records the host of the service's container. A placed service must already have its reservation there.
   */
  recordHost(service: Service, host: Host): void {
    if (service.hostId !== null) this.#at(service.hostId).delete(service);
    service.hostId = host.id;
    this.#at(host.id).add(service);
  }

  /** Releases the reservation. The host stays recorded, for the logs. */
  release(service: Service): void {
    if (!service.placed) return;
    this.#reserve(service, -1);
    service.placed = false;
    this.touch(service);
  }

  /**
   * Queues an execution, and each of its elastic services, if it may be placed at `nowMs`; otherwise removes
   * it from the queue.
   */
  updateQueues(execution: Execution, nowMs: number): void {
    const { id, userId, size, timeSubmitMs, status, ending, retryAtMs, services } = execution;
    if (status === 'queued' && !ending && (retryAtMs ?? 0) <= nowMs) {
      if (!this.queue.has(id)) this.queue.add(execution, gangDemand(execution));
    } else this.queue.remove(id);
    for (const service of services) {
      if (service.essential) continue;
      const idle = !service.placed && service.status === 'inactive' && (service.restartAtMs ?? 0) <= nowMs;
      if (status !== 'running' || ending || !idle) this.elastic.remove(service.id);
      else if (!this.elastic.has(service.id)) {
        const place = { id: service.id, userId, size, timeSubmitMs, execution, service };
        this.elastic.add(place, demandOf([service], 0));
      }
    }
  }

  /** Marks a row to be written, and its execution to be examined. */
  touch(changed: Service | Execution): void {
    const [rows, executionId] =
      'services' in changed
        ? [this.changes.executions, changed.id]
        : [this.changes.services, changed.executionId];
    (rows as Set<Service | Execution>).add(changed);
    this.dirty.add(executionId);
  }

  /** Returns the changes since the last call. */
  takeChanges(): Changes {
    const changes = this.changes;
    this.changes = noChanges();
    return changes;
  }

  /** The user's quota has free capacity again, after an end or with another quota. */
  #requeueUser(userId: number): void {
    this.queue.requeueUser(userId);
    this.elastic.requeueUser(userId);
  }

  #at(hostId: number): Set<Service> {
    const found = this.#servicesByHost.get(hostId);
    if (found) return found;
    const services = new Set<Service>();
    this.#servicesByHost.set(hostId, services);
    return services;
  }

  #count(execution: Execution): void {
    this.admitted.add(execution);
    this.#usageOf(execution.userId).executions += 1;
  }

  #executionOf({ executionId }: Service): Execution {
    const execution = this.executions.get(executionId);
    if (!execution) throw new Error(`no execution ${executionId}`);
    return execution;
  }

  #usageOf(userId: number): Usage {
    const usage = this.#usages.get(userId) ?? noUsage();
    this.#usages.set(userId, usage);
    return usage;
  }

  #reserve(service: Service, sign: 1 | -1): void {
    const { requirement, essential, hostId } = service;
    const { userId } = this.#executionOf(service);
    addUsage(this.#usageOf(userId), requirement, sign);
    if (sign === -1) this.#requeueUser(userId);
    if (!essential) {
      this.elasticCount += sign;
      const elastic = this.#elasticOf.get(userId) ?? new Set();
      if (sign === 1) this.#elasticOf.set(userId, elastic.add(service));
      else elastic.delete(service);
    }
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

/** True while the coordinator still has work to do for the execution. */
export const isLive = (execution: Execution): boolean => !isEnded(execution) || execution.deleted;
