/**
 * Owns for whom room is kept, so that what is passed by others starts all the same: of those of the highest priority that
 * could start, the execution submitted first, once it has been that for 10 minutes (`holdAfterMs`). Nobody else is placed in the room
 * that is kept; it starts as soon as that is free, or fits anywhere else. Known to memory only: a restart begins anew.
 */

import type { Execution } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { Cluster } from '../state/cluster.ts';
import type { Decision } from '../state/decision.ts';
import {
  changeRoom,
  EPSILON,
  fits,
  hasLabels,
  isUsable,
  type Room,
  roomOf,
  shareLeft,
} from './free-capacity.ts';
import { largestFirst, type Placement, placeAll } from './gang-placement.ts';
import { placeByReclaiming, type Reclaim, reclaimAt } from './preemption.ts';
import { essentialNeeds, type Needs } from './resource-demand.ts';

export interface Hold {
  readonly execution: Execution;
  /** When room will be kept for it; null from then on. */
  dueMs: number | null;
  /** Where room is kept for which service; empty as long as none is. */
  placements: readonly Placement[];
  /** It may start in the room that has just come to be kept. */
  untried: boolean;
}

const MOST_KNOWN = 10_000;

/** Whether a gang would fit on the hosts that are there, were they empty: else no room is kept for it. Remembered. */
export class Possibilities {
  #version = -1;
  readonly #known = new Map<string, boolean>();

  has(cluster: Cluster, execution: Execution, needs: Needs): boolean {
    const { rooms, hosts } = cluster;
    if (this.#version !== rooms.version || this.#known.size > MOST_KNOWN) this.#known.clear();
    this.#version = rooms.version;
    const known = this.#known.get(needs.key) ?? placesOnEmpty(execution, [...hosts.values()]) !== null;
    this.#known.set(needs.key, known);
    return known;
  }
}

/** Sees to it that room is kept for the right one. */
export function keepRoom(cluster: Cluster, nowMs: number): void {
  const { queue, hold, possibilities } = cluster;
  const first = queue.oldest(
    (userId) => cluster.standing(userId),
    (execution, needs) =>
      cluster.excesses(execution.userId, needs.usage).length === 0 &&
      possibilities.has(cluster, execution, needs),
  );
  if (hold && (hold.execution !== first || !hold.placements.every(isSound))) releaseHold(cluster);
  if (!first) {
    cluster.hold = null;
    return;
  }
  if (hold?.execution !== first) {
    const dueMs = nowMs + cluster.scheduling.holdAfterMs;
    cluster.hold = { execution: first, dueMs, placements: [], untried: false };
  }
  const { hold: current } = cluster;
  if (!current || (current.dueMs ?? 0) > nowMs || current.placements.length > 0) return;
  current.dueMs = null;
  current.placements = placesOnEmpty(first, emptiestFirst(cluster.hosts.values())) ?? [];
  current.untried = current.placements.length > 0;
  keep(cluster, current.placements, 1);
}

/** Starts the execution for which room is kept, if it can start now: worth a try where a host grew, and once at first. */
export function placeHeld(cluster: Cluster, carryOut: (decision: Decision) => void): void {
  const { hold, rooms } = cluster;
  if (!hold || hold.placements.length === 0) return;
  const { execution, placements } = hold;
  hold.untried = false;
  const needs = essentialNeeds(execution);
  if (!cluster.queue.has(execution.id) || cluster.excesses(execution.userId, needs.usage).length > 0) return;
  const essential = execution.services.filter((service) => service.essential);
  const found: Reclaim | null =
    withKeptRoom(cluster, () => withoutVictims(placeAll(essential, rooms))) ??
    withKeptRoom(cluster, () => placeByReclaiming(cluster, execution, needs)) ??
    reclaimAt(cluster, placements);
  if (!found) return;
  releaseHold(cluster);
  cluster.hold = null;
  for (const service of found.victims) carryOut({ kind: 'reclaim', service });
  carryOut({ kind: 'place', execution, placements: found.placements });
}

/** What is found when the room that is kept is there for it, too. */
export function withKeptRoom<T>({ hold, rooms }: Cluster, find: () => T): T {
  for (const { service, host } of hold?.placements ?? []) rooms.suppose(host, service.requirement, 1);
  const found = find();
  for (const { host } of hold?.placements ?? []) rooms.restore(host);
  return found;
}

const withoutVictims = (placements: Placement[] | null): Reclaim | null =>
  placements && { placements, victims: [] };

/** Room is kept no longer where it was; `keepRoom` finds other, if it is still due. */
export function releaseHold(cluster: Cluster): void {
  const { hold } = cluster;
  if (!hold) return;
  keep(cluster, hold.placements, -1);
  hold.placements = [];
}

function keep(cluster: Cluster, placements: readonly Placement[], sign: 1 | -1): void {
  for (const { service, host } of placements) {
    host.keptMemoryBytes += sign * service.requirement.memoryBytes;
    host.keptCores += sign * service.requirement.cores;
    cluster.rooms.update(host);
  }
}

/** Whether the host still is one where the service can run some day. */
const isSound = ({ service, host }: Placement): boolean =>
  isUsable(host) &&
  hasLabels(host, service.requirement.labels) &&
  host.keptMemoryBytes <= host.memoryBytes &&
  host.keptCores <= host.cores + EPSILON;

/** Those with most of themselves left, since they may be free first. */
const emptiestFirst = (hosts: Iterable<Host>): Host[] =>
  Array.from(hosts, roomOf)
    .sort((a, b) => shareLeft(b) - shareLeft(a) || a.host.id - b.host.id)
    .map(({ host }) => host);

/** Where the essential services would go if the hosts were empty, each on the first that it fits; or null. */
function placesOnEmpty({ services }: Execution, hosts: readonly Host[]): Placement[] | null {
  const wholes: Room[] = hosts.map((host) => ({ host, memoryBytes: host.memoryBytes, cores: host.cores }));
  const placements: Placement[] = [];
  for (const service of largestFirst(services.filter(({ essential }) => essential))) {
    const room = wholes.find((whole) => fits(whole, service.requirement));
    if (!room) return null;
    changeRoom(room, service.requirement, -1);
    placements.push({ service, host: room.host });
  }
  return placements;
}
