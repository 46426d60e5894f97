/**
 * Owns the live state: executions that have not ended, their services, the hosts, users and quotas, and what follows from
 * them (queue, reservations, services by host, what runs of a user). Also notes what changed, for the commit. Pure; the store and the agents are elsewhere.
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
  /** Also deleted ones, who are disabled, until the next start. */
  readonly users = new Map<number, User>();
  readonly quotas = new Map<number, Quota>();
  readonly nextIds: NextIds;
  /** Services whose ids were given before the database was restored from a copy that does not have them. */
  readonly unknown: IdRange[] = [];
  readonly schedulerConfig: SchedulerConfig;
  /** Queued executions, but for those whose start failed and is to be tried again later. */
  readonly queue: Queue<Execution>;
  /** Elastic services without a host, of running executions. */
  readonly elastic: Queue<QueuedElasticService>;
  /** For whom room is kept, or will be. */
  reservation: BackfillReservation | null = null;
  readonly feasibility = new FeasibilityCache();
  /** What the hosts have left. */
  readonly hostIndex: HostIndex;
  /** Executions that count under the quota of their user: from their placing to their end or return to the queue. */
  readonly admitted = new Set<Execution>();
  /** Elastic services that are placed. */
  elasticCount = 0;
  /** By execution. */
  readonly deadlines = new Deadlines();
  /** When the last turn was, by the clock of then. Before the first one: by one that may have been ahead. */
  lastTurnMs = Number.POSITIVE_INFINITY;
  /** Executions to look at in the next turn. */
  readonly dirty = new Set<number>();
  changes: Changes = noChanges();
  readonly #hostsByName = new Map<string, Host>();
  readonly #servicesByHost = new Map<number, Set<Service>>();
  /** By user; none is kept of those of whom nothing was ever admitted. */
  readonly #usages = new Map<number, Usage>();
  /** Placed ones, by user. */
  readonly #elasticOf = new Map<number, Set<Service>>();

  constructor(nextIds: NextIds, config: SchedulerConfig) {
    this.nextIds = nextIds;
    this.schedulerConfig = config;
    this.queue = new Queue(config.queuePolicy);
    this.elastic = new Queue(config.queuePolicy);
    this.hostIndex = new HostIndex(config);
  }

  /** Takes in an execution read from the store or just submitted. */
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

  /** Lets go of an execution that needs nothing any more; its row, if kept, is served from the store. */
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

  /** Its services stay as they are, but for their room on it (departure.ts). */
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

  /** Caps of the user's quota that `wanted` would exceed, where it comes to `used`: what is there now, unless told otherwise. */
  exceededLimits(userId: number, wanted: Usage, used: Usage = this.usage(userId)): ExceededLimit[] {
    return exceededLimits(this.quotaOf(userId), used, wanted);
  }

  /** What of the user is admitted, and reserved. */
  usage(userId: number): Readonly<Usage> {
    return this.#usages.get(userId) ?? noUsage();
  }

  /** Where the user's executions stand in the queue. */
  fairShareKey(userId: number): FairShareKey {
    return { priority: this.users.get(userId)?.priority ?? 0, executions: this.usage(userId).executions };
  }

  /** Elastic services of the user that are placed. */
  elasticOf(userId: number): ReadonlySet<Service> {
    return this.#elasticOf.get(userId) ?? new Set();
  }

  /** Whether room on the host was given away by services whose containers are still there. */
  hasDepartingContainers(hostId: number): boolean {
    for (const service of this.#at(hostId)) if (isPreempted(service)) return true;
    return false;
  }

  /** A container is gone that others may have waited for. */
  wakeWaitingFor(host: Host): void {
    for (const { executionId } of this.#at(host.id)) this.dirty.add(executionId);
  }

  hostNamed(name: string): Host | undefined {
    return this.#hostsByName.get(name);
  }

  servicesAt(hostId: number): ReadonlySet<Service> {
    return this.#at(hostId);
  }

  /** Takes an execution from the queue: it counts under its user's quota from here on. */
  admit(execution: Execution): void {
    this.queue.remove(execution.id);
    this.#count(execution);
  }

  /** The execution counts no longer, if it did. */
  dismiss(execution: Execution): void {
    if (!this.admitted.delete(execution)) return;
    this.#usageOf(execution.userId).executions -= 1;
    this.#requeueUser(execution.userId);
  }

  /** Reserves the service's needs on a host. */
  place(service: Service, host: Host): void {
    this.recordHost(service, host);
    service.placed = true;
    this.elastic.remove(service.id);
    this.#reserve(service, 1);
    this.touch(service);
  }

  /** Notes on which host its container is. Of one that is placed, only its own. */
  recordHost(service: Service, host: Host): void {
    if (service.hostId !== null) this.#at(service.hostId).delete(service);
    service.hostId = host.id;
    this.#at(host.id).add(service);
  }

  /** Gives the reservation back; the host stays known, for the logs. */
  release(service: Service): void {
    if (!service.placed) return;
    this.#reserve(service, -1);
    service.placed = false;
    this.touch(service);
  }

  /** Has those wait for room, of an execution and its elastic services, that may be placed at `nowMs`, and no others. */
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

  /** Notes that a row must be written and its execution looked at. */
  touch(changed: Service | Execution): void {
    const [rows, executionId] =
      'services' in changed
        ? [this.changes.executions, changed.id]
        : [this.changes.services, changed.executionId];
    (rows as Set<Service | Execution>).add(changed);
    this.dirty.add(executionId);
  }

  /** Hands out what changed since the last call. */
  takeChanges(): Changes {
    const changes = this.changes;
    this.changes = noChanges();
    return changes;
  }

  /** What the user may have has grown: an end, another quota. */
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

/** Live: the coordinator still has something to do for it. */
export const isLive = (execution: Execution): boolean => !isEnded(execution) || execution.deleted;
