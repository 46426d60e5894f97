/**
 * An index of the hosts' free capacity, so that a host is found without examining all. Hosts with equal
 * labels and size form a host class (host-class.ts, SCHED-8). `update` reads a host; the index never changes
 * one. Pure.
 */

import type { Host } from '../model/host.ts';
import type { Requirement, Resources } from '../model/resources.ts';
import type { SchedulerConfig } from '../model/scheduler-config.ts';
import type { Service } from '../model/service.ts';
import { adjust, type FreeCapacity } from './free-capacity.ts';
import { HostClass, IndexedHost } from './host-class.ts';
import { hasLabels, mountsFilesOf } from './host-filters.ts';

/** Tolerance for the drift of sums of fractions. */
const SLACK_CORES = 0.01;

export class HostIndex {
  /** Hosts whose free or preemptible capacity has grown since this was last cleared. */
  readonly withFreedCapacity = new Set<Host>();
  /** Changes with the set of usable hosts, and with their labels, sizes and what they mount. */
  version = 0;
  readonly #config: SchedulerConfig;
  readonly #classes = new Map<string, HostClass>();
  readonly #indexed = new Map<number, IndexedHost>();
  /** Sums of the preemptible capacity of all hosts. */
  #totalFreeBytes = 0;
  #totalFreeCores = 0;

  constructor(config: SchedulerConfig) {
    this.#config = config;
  }

  /** How many hosts it has. */
  get size(): number {
    return this.#indexed.size;
  }

  /** Reads the current state of a host. Cheap if nothing has changed. */
  update(host: Host): void {
    let indexed = this.#indexed.get(host.id);
    if (!indexed?.matches(host)) indexed = this.#addToClass(host, indexed);
    const { isUsable } = indexed;
    if (this.#refresh(indexed)) this.withFreedCapacity.add(host);
    if (indexed.isUsable !== isUsable) this.version++;
  }

  remove(host: Host): void {
    const indexed = this.#indexed.get(host.id);
    if (!indexed) return;
    this.#removeFromClass(indexed);
    this.#indexed.delete(host.id);
    this.withFreedCapacity.delete(host);
    this.version++;
  }

  /** The host that the placement policy chooses for a service, or undefined if the service fits nowhere. */
  selectHost(service: Pick<Service, 'id' | 'requirement'>): Host | undefined {
    const { requirement } = service;
    const classes = [...this.#classes.values()].filter((hostClass) =>
      hasLabels(hostClass, requirement.labels),
    );
    if (this.#config.placementPolicy === 'random') return this.#selectHostFrom(classes, service);
    let found: IndexedHost | undefined;
    for (const hostClass of classes) {
      const indexed = hostClass.search(requirement);
      if (
        indexed &&
        (!found ||
          indexed.score < found.score ||
          (indexed.score === found.score && indexed.free.host.id < found.free.host.id))
      )
        found = indexed;
    }
    return found?.free.host;
  }

  /** Hosts that could take a service if all their elastic services were preempted. */
  preemptibleHosts(requirement: Requirement): FreeCapacity[] {
    return [...this.#classes.values()]
      .filter((hostClass) => hasLabels(hostClass, requirement.labels))
      .flatMap((hostClass) => hostClass.preemptible(requirement))
      .filter(({ free: { host } }) => mountsFilesOf(host, requirement))
      .map(({ free }) => free);
  }

  /** Free capacity of a host, including assumed changes. */
  freeCapacityOf(host: Host): Readonly<FreeCapacity> {
    return this.#indexedHostOf(host).free;
  }

  /** Counts resources as released (1) or taken (-1) until `forgetAssumed`. */
  assume(host: Host, requirement: Resources, sign: 1 | -1): void {
    const indexed = this.#indexedHostOf(host);
    adjust(indexed.free, requirement, sign);
    indexed.hostClass.refresh(indexed);
  }

  /** Discards the assumed changes of a host. */
  forgetAssumed(host: Host): void {
    const indexed = this.#indexed.get(host.id);
    if (indexed) this.#refresh(indexed);
  }

  /**
   * False if a gang requires more than all hosts together have, including preemptible capacity: it then fits
   * nowhere.
   */
  mayFitInTotal({ memoryBytes, cores }: Resources): boolean {
    return memoryBytes <= this.#totalFreeBytes && cores <= this.#totalFreeCores + SLACK_CORES;
  }

  #refresh(indexed: IndexedHost): boolean {
    const { preemptibleBytes, preemptibleCores } = indexed;
    const grew = indexed.update();
    this.#totalFreeBytes += Math.max(0, indexed.preemptibleBytes) - Math.max(0, preemptibleBytes);
    this.#totalFreeCores += Math.max(0, indexed.preemptibleCores) - Math.max(0, preemptibleCores);
    return grew;
  }

  #indexedHostOf(host: Host): IndexedHost {
    const indexed = this.#indexed.get(host.id);
    if (!indexed) throw new Error(`host ${host.name} is not in the host index`);
    return indexed;
  }

  /** The first host that fits, going round from a position drawn from seed and service id. */
  #selectHostFrom(classes: readonly HostClass[], { id, requirement }: Pick<Service, 'id' | 'requirement'>) {
    const total = classes.reduce((sum, hostClass) => sum + hostClass.size, 0);
    let from = draw(this.#config.seed, id) % Math.max(1, total);
    const rest: HostClass[] = [];
    let found: IndexedHost | undefined;
    for (const hostClass of classes) {
      if (from < hostClass.size) found ??= hostClass.search(requirement, from);
      if (from > 0) rest.push(hostClass);
      from = Math.max(0, from - hostClass.size);
    }
    for (const hostClass of rest) found ??= hostClass.search(requirement);
    return found?.free.host;
  }

  #removeFromClass(indexed: IndexedHost): void {
    this.#totalFreeBytes -= Math.max(0, indexed.preemptibleBytes);
    this.#totalFreeCores -= Math.max(0, indexed.preemptibleCores);
    indexed.hostClass.remove(indexed);
    if (indexed.hostClass.size === 0) this.#classes.delete(indexed.hostClass.key);
  }

  /** Puts a host into the class of hosts like it, and takes it out of its former class. */
  #addToClass(host: Host, former: IndexedHost | undefined): IndexedHost {
    if (former) this.#removeFromClass(former);
    const key = `${host.memoryBytes} ${host.cores} ${host.labels.toSorted().join(' ')}`;
    const hostClass = this.#classes.get(key) ?? new HostClass(key, host.labels, this.#config.placementPolicy);
    this.#classes.set(key, hostClass);
    const indexed = new IndexedHost(host, hostClass);
    hostClass.add(indexed);
    this.#indexed.set(host.id, indexed);
    this.version++;
    return indexed;
  }
}

/** A pseudo-random number, the same for the same seed and id. */
function draw(seed: number, id: number): number {
  let mixed = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(id, 0xc2b2ae35);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}
