/**
 * Owns the live state: executions that have not ended, their services, the hosts, users and quotas, and what follows from
 * them (queue, reservations, services by host, what runs of a user). Also notes what changed, for the commit. Pure; the store and the agents are elsewhere.
 */
import type { Quota, User } from './account.ts';
import { type Execution, isEnded } from './execution.ts';
import type { Host } from './host.ts';
import { Queue } from './queue.ts';
import { addUsage, type Excess, excesses, noUsage, type Usage } from './quota.ts';
import type { Service } from './service.ts';

/** Rows to write in the next commit. */
export interface Changes {
  newExecutions: Set<Execution>;
  executions: Set<Execution>;
  services: Set<Service>;
  newHosts: Set<Host>;
  hosts: Set<Host>;
  purged: Set<Execution>;
}

const noChanges = (): Changes => ({
  newExecutions: new Set(),
  executions: new Set(),
  services: new Set(),
  newHosts: new Set(),
  hosts: new Set(),
  purged: new Set(),
});

/** The ids the next execution, service and host get; never given twice, also not after a deletion. */
export interface NextIds {
  execution: number;
  service: number;
  host: number;
}

export class Cluster {
  readonly executions = new Map<number, Execution>();
  readonly services = new Map<number, Service>();
  readonly hosts = new Map<number, Host>();
  /** Also deleted ones, who are disabled, until the next start. */
  readonly users = new Map<number, User>();
  readonly quotas = new Map<number, Quota>();
  readonly nextIds: NextIds;
  /** Queued executions. */
  readonly queue = new Queue();
  /** Executions that count under the quota of their user: from their placing to their end or return to the queue. */
  readonly admitted = new Set<Execution>();
  /** Executions to look at in the next turn. */
  readonly dirty = new Set<number>();
  /** Room was freed or added since the last turn, on a host or under a quota: the whole queue is worth a try. */
  roomGrew = false;
  changes: Changes = noChanges();
  readonly #hostsByName = new Map<string, Host>();
  readonly #servicesByHost = new Map<number, Set<Service>>();
  /** By user; none is kept of those of whom nothing was ever admitted. */
  readonly #usages = new Map<number, Usage>();
  /** When to look at an execution again although nothing happened. */
  readonly #deadlinesMs = new Map<number, number>();

  constructor(nextIds: NextIds) {
    this.nextIds = nextIds;
  }

  /** Takes in an execution read from the store or just submitted. */
  addExecution(execution: Execution): void {
    this.executions.set(execution.id, execution);
    for (const service of execution.services) {
      this.services.set(service.id, service);
      if (service.hostId !== null) this.#at(service.hostId).add(service);
      if (service.placed) this.#reserve(service, 1);
    }
    if (execution.status === 'queued') this.queue.add(execution);
    else if (!isEnded(execution)) this.#count(execution);
    this.dirty.add(execution.id);
  }

  /** Lets go of an execution that needs nothing any more; its row, if kept, is served from the store. */
  dropExecution(execution: Execution): void {
    this.executions.delete(execution.id);
    this.#deadlinesMs.delete(execution.id);
    for (const service of execution.services) {
      this.services.delete(service.id);
      if (service.hostId !== null) this.#at(service.hostId).delete(service);
    }
  }

  addHost(host: Host): void {
    this.hosts.set(host.id, host);
    this.#hostsByName.set(host.name, host);
  }

  setUser(user: User): void {
    const before = this.users.get(user.id);
    if (before && before.quotaId !== user.quotaId) this.roomGrew = true;
    this.users.set(user.id, user);
  }

  setQuota(quota: Quota): void {
    if (this.quotas.has(quota.id)) this.roomGrew = true;
    this.quotas.set(quota.id, quota);
  }

  /** Caps of the user's quota that `wanted` would exceed now. */
  excesses(userId: number, wanted: Usage): Excess[] {
    const quota = this.quotas.get(this.users.get(userId)?.quotaId ?? 0);
    if (!quota) throw new Error(`user ${userId} has no quota`);
    return excesses(quota, this.usage(userId), wanted);
  }

  /** What of the user is admitted, and reserved. */
  usage(userId: number): Readonly<Usage> {
    return this.#usages.get(userId) ?? noUsage();
  }

  hostNamed(name: string): Host | undefined {
    return this.#hostsByName.get(name);
  }

  servicesAt(hostId: number): ReadonlySet<Service> {
    return this.#at(hostId);
  }

  /** Takes an execution from the queue: it counts under its user's quota from here on. */
  admit(execution: Execution): void {
    this.queue.remove(execution);
    this.#count(execution);
  }

  /** The execution counts no longer, if it did. */
  dismiss(execution: Execution): void {
    if (!this.admitted.delete(execution)) return;
    this.#usageOf(execution.userId).executions -= 1;
    this.roomGrew = true;
  }

  /** Reserves the service's needs on a host. */
  place(service: Service, host: Host): void {
    if (service.hostId !== null) this.#at(service.hostId).delete(service);
    service.hostId = host.id;
    service.placed = true;
    this.#at(host.id).add(service);
    this.#reserve(service, 1);
    this.touch(service);
  }

  /** Gives the reservation back; the host stays known, for the logs. */
  release(service: Service): void {
    if (!service.placed) return;
    this.#reserve(service, -1);
    service.placed = false;
    this.roomGrew = true;
    this.touch(service);
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

  /** Looks at the execution again at `timeMs`; the earlier of several wins. */
  wakeAt(execution: Execution, timeMs: number): void {
    const earlier = this.#deadlinesMs.get(execution.id) ?? Number.POSITIVE_INFINITY;
    this.#deadlinesMs.set(execution.id, Math.min(earlier, timeMs));
  }

  /** Marks what is due. */
  wakeDue(nowMs: number): void {
    for (const [id, timeMs] of this.#deadlinesMs) {
      if (timeMs > nowMs) continue;
      this.#deadlinesMs.delete(id);
      this.dirty.add(id);
    }
  }

  /** When the next look is due, or null. */
  nextWakeMs(): number | null {
    let next: number | null = null;
    for (const timeMs of this.#deadlinesMs.values()) next = Math.min(next ?? timeMs, timeMs);
    return next;
  }

  /** Hands out what changed since the last call. */
  takeChanges(): Changes {
    const changes = this.changes;
    this.changes = noChanges();
    return changes;
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

  #usageOf(userId: number): Usage {
    const usage = this.#usages.get(userId) ?? noUsage();
    this.#usages.set(userId, usage);
    return usage;
  }

  #reserve(service: Service, sign: 1 | -1): void {
    const execution = this.executions.get(service.executionId);
    if (execution) addUsage(this.#usageOf(execution.userId), service.requirement, sign);
    const host = service.hostId === null ? undefined : this.hosts.get(service.hostId);
    if (!host) return;
    host.reservedMemoryBytes += sign * service.requirement.memoryBytes;
    host.reservedCores += sign * service.requirement.cores;
  }
}

/** Live: the coordinator still has something to do for it. */
export const isLive = (execution: Execution): boolean => !isEnded(execution) || execution.deleted;
