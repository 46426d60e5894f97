/**
 * Owns which host has how much room, indexed so that the one to take is found without looking at all: hosts of the same
 * labels and size stand on one shelf (shelf.ts). Follows the hosts by `update`; never changes one. Pure.
 */

import { MICRO, type Usage } from '../accounts/quota.ts';
import type { Host } from '../model/host.ts';
import type { SchedulingPolicy } from '../model/scheduler-config.ts';
import type { Requirement, Service } from '../model/service.ts';
import { changeRoom, hasLabels, type Room } from './free-capacity.ts';
import { Shelf, Spot } from './host-class.ts';

/** Sums of fractions drift. */
const SLACK_CORES = 0.01;

export class Rooms {
  /** Hosts that have more room, free or held by elastic services, than when this was last emptied. */
  readonly grown = new Set<Host>();
  /** Changes with the hosts that take services, and with what they are. */
  version = 0;
  readonly #scheduling: SchedulingPolicy;
  readonly #shelves = new Map<string, Shelf>();
  readonly #spots = new Map<number, Spot>();
  /** Sums over all hosts, with what elastic services have. */
  #leftBytes = 0;
  #leftCores = 0;

  constructor(scheduling: SchedulingPolicy) {
    this.#scheduling = scheduling;
  }

  /** Takes in a host as it is now. Costs little where nothing changed. */
  update(host: Host): void {
    let spot = this.#spots.get(host.id);
    if (!spot?.isAbout(host)) spot = this.#shelve(host, spot);
    const { isUsable } = spot;
    if (this.#follow(spot)) this.grown.add(host);
    if (spot.isUsable !== isUsable) this.version++;
  }

  /** Forgets a host that is no longer there. */
  remove(host: Host): void {
    const spot = this.#spots.get(host.id);
    if (!spot) return;
    this.#takeOff(spot);
    this.#spots.delete(host.id);
    this.grown.delete(host);
    this.version++;
  }

  /** The host that the policy gives a service, or undefined where it fits nowhere. */
  find(service: Pick<Service, 'id' | 'requirement'>): Host | undefined {
    const { requirement } = service;
    const shelves = [...this.#shelves.values()].filter((shelf) => hasLabels(shelf, requirement.labels));
    if (this.#scheduling.placement === 'random') return this.#findFrom(shelves, service);
    let found: Spot | undefined;
    for (const shelf of shelves) {
      const spot = shelf.search(requirement);
      if (
        spot &&
        (!found ||
          spot.rank < found.rank ||
          (spot.rank === found.rank && spot.room.host.id < found.room.host.id))
      )
        found = spot;
    }
    return found?.room.host;
  }

  /** Hosts that could take a service if all their elastic services went. */
  reclaimable(requirement: Requirement): Room[] {
    return [...this.#shelves.values()]
      .filter((shelf) => hasLabels(shelf, requirement.labels))
      .flatMap((shelf) => shelf.reclaimable(requirement))
      .map(({ room }) => room);
  }

  /** What a host has left, with what is supposed of it. */
  left(host: Host): Readonly<Room> {
    return this.#spotOf(host).room;
  }

  /** Counts a requirement as given back (1) or taken (-1), until the `restore` of the host. */
  suppose(host: Host, requirement: Requirement, sign: 1 | -1): void {
    const spot = this.#spotOf(host);
    changeRoom(spot.room, requirement, sign);
    spot.shelf.put(spot);
  }

  /** Ends what was supposed of a host. */
  restore(host: Host): void {
    const spot = this.#spots.get(host.id);
    if (spot) this.#follow(spot);
  }

  /** Whether all hosts together have so much left, if all elastic services went: a gang that asks for more fits nowhere. */
  mayHold({ memoryBytes, microCores }: Usage): boolean {
    return memoryBytes <= this.#leftBytes && microCores <= (this.#leftCores + SLACK_CORES) * MICRO;
  }

  #follow(spot: Spot): boolean {
    this.#count(spot, -1);
    const grew = spot.update();
    this.#count(spot, 1);
    return grew;
  }

  #count({ reclaimableBytes, reclaimableCores }: Spot, sign: 1 | -1): void {
    this.#leftBytes += sign * Math.max(0, reclaimableBytes);
    this.#leftCores += sign * Math.max(0, reclaimableCores);
  }

  #spotOf(host: Host): Spot {
    const spot = this.#spots.get(host.id);
    if (!spot) throw new Error(`host ${host.name} has no room`);
    return spot;
  }

  /** The first that fits, going round from a place that seed and service draw. */
  #findFrom(shelves: readonly Shelf[], { id, requirement }: Pick<Service, 'id' | 'requirement'>) {
    const total = shelves.reduce((sum, shelf) => sum + shelf.size, 0);
    let from = draw(this.#scheduling.seed, id) % Math.max(1, total);
    const rest: Shelf[] = [];
    let found: Spot | undefined;
    for (const shelf of shelves) {
      if (from < shelf.size) found ??= shelf.search(requirement, from);
      if (from > 0) rest.push(shelf);
      from = Math.max(0, from - shelf.size);
    }
    for (const shelf of rest) found ??= shelf.search(requirement);
    return found?.room.host;
  }

  #takeOff(spot: Spot): void {
    this.#count(spot, -1);
    spot.shelf.remove(spot);
    if (spot.shelf.size === 0) this.#shelves.delete(spot.shelf.key);
  }

  /** Puts a host where hosts like it are; it may have stood elsewhere. */
  #shelve(host: Host, former: Spot | undefined): Spot {
    if (former) this.#takeOff(former);
    const key = `${host.memoryBytes} ${host.cores} ${host.labels.toSorted().join(' ')}`;
    const shelf = this.#shelves.get(key) ?? new Shelf(key, host.labels, this.#scheduling.placement);
    this.#shelves.set(key, shelf);
    const spot = new Spot(host, shelf);
    shelf.add(spot);
    this.#spots.set(host.id, spot);
    this.version++;
    return spot;
  }
}

/** A number that looks like chance, the same for the same two. */
function draw(seed: number, id: number): number {
  let mixed = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(id, 0xc2b2ae35);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}
