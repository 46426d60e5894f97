/**
 * Owns for whom room is kept, so that what is passed by others starts all the same: of those of the highest priority that
 * could start, the execution submitted first, once it has been that for 10 minutes (`holdAfterMs`). Nobody else is placed in the room
 * that is kept; it starts as soon as that is free, or fits anywhere else. Known to memory only: a restart begins anew.
 */

import { type Execution, essentialServices } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { Cluster } from '../state/cluster.ts';
import type { Decision } from '../state/decision.ts';
import {
  adjust,
  EPSILON,
  type FreeCapacity,
  fits,
  freeCapacityOf,
  freeShare,
  hasLabels,
  isUsable,
} from './free-capacity.ts';
import { largestFirst, type Placement, placeGang } from './gang-placement.ts';
import { type PreemptionPlan, placeWithPreemption, preemptAt } from './preemption.ts';
import { gangDemand, type ResourceDemand } from './resource-demand.ts';

export interface BackfillReservation {
  readonly execution: Execution;
  /** When room will be kept for it; null from then on. */
  dueMs: number | null;
  /** Where room is kept for which service; empty as long as none is. */
  placements: readonly Placement[];
  /** It may start in the room that has just come to be kept. */
  isUntried: boolean;
}

const MAX_CACHED = 10_000;

/** Whether a gang would fit on the hosts that are there, were they empty: else no room is kept for it. Remembered. */
export class FeasibilityCache {
  #version = -1;
  readonly #known = new Map<string, boolean>();

  has(cluster: Cluster, execution: Execution, demand: ResourceDemand): boolean {
    const { hostIndex, hosts } = cluster;
    if (this.#version !== hostIndex.version || this.#known.size > MAX_CACHED) this.#known.clear();
    this.#version = hostIndex.version;
    const known = this.#known.get(demand.key) ?? placeOnEmptyHosts(execution, [...hosts.values()]) !== null;
    this.#known.set(demand.key, known);
    return known;
  }
}

/** Sees to it that room is kept for the right one. */
export function updateReservation(cluster: Cluster, nowMs: number): void {
  const { queue, reservation, feasibility } = cluster;
  const first = queue.oldest(
    (userId) => cluster.fairShareKey(userId),
    (execution, demand) =>
      cluster.exceededLimits(execution.userId, demand.usage).length === 0 &&
      feasibility.has(cluster, execution, demand),
  );
  if (reservation && (reservation.execution !== first || !reservation.placements.every(isSound)))
    releaseReservation(cluster);
  if (!first) {
    cluster.reservation = null;
    return;
  }
  if (reservation?.execution !== first) {
    const dueMs = nowMs + cluster.schedulerConfig.backfillReserveAfterMs;
    cluster.reservation = { execution: first, dueMs, placements: [], isUntried: false };
  }
  const { reservation: current } = cluster;
  if (!current || (current.dueMs ?? 0) > nowMs || current.placements.length > 0) return;
  current.dueMs = null;
  current.placements = placeOnEmptyHosts(first, emptiestFirst(cluster.hosts.values())) ?? [];
  current.isUntried = current.placements.length > 0;
  reserve(cluster, current.placements, 1);
}

/** Starts the execution for which room is kept, if it can start now: worth a try where a host grew, and once at first. */
export function startReserved(cluster: Cluster, carryOut: (decision: Decision) => void): void {
  const { reservation, hostIndex } = cluster;
  if (!reservation || reservation.placements.length === 0) return;
  const { execution, placements } = reservation;
  reservation.isUntried = false;
  const demand = gangDemand(execution);
  if (!cluster.queue.has(execution.id) || cluster.exceededLimits(execution.userId, demand.usage).length > 0)
    return;
  const essential = essentialServices(execution);
  const found: PreemptionPlan | null =
    withReservation(cluster, () => withoutVictims(placeGang(essential, hostIndex))) ??
    withReservation(cluster, () => placeWithPreemption(cluster, execution, demand)) ??
    preemptAt(cluster, placements);
  if (!found) return;
  releaseReservation(cluster);
  cluster.reservation = null;
  for (const service of found.victims) carryOut({ kind: 'preempt', service });
  carryOut({ kind: 'place', execution, placements: found.placements });
}

/** What is found when the room that is kept is there for it, too. */
export function withReservation<T>({ reservation, hostIndex }: Cluster, find: () => T): T {
  for (const { service, host } of reservation?.placements ?? [])
    hostIndex.assume(host, service.requirement, 1);
  const found = find();
  for (const { host } of reservation?.placements ?? []) hostIndex.forgetAssumed(host);
  return found;
}

const withoutVictims = (placements: Placement[] | null): PreemptionPlan | null =>
  placements && { placements, victims: [] };

/** Room is kept no longer where it was; `keepRoom` finds other, if it is still due. */
export function releaseReservation(cluster: Cluster): void {
  const { reservation } = cluster;
  if (!reservation) return;
  reserve(cluster, reservation.placements, -1);
  reservation.placements = [];
}

function reserve(cluster: Cluster, placements: readonly Placement[], sign: 1 | -1): void {
  for (const { service, host } of placements) {
    host.backfillReservedMemoryBytes += sign * service.requirement.memoryBytes;
    host.backfillReservedCores += sign * service.requirement.cores;
    cluster.hostIndex.update(host);
  }
}

/** Whether the host still is one where the service can run some day. */
const isSound = ({ service, host }: Placement): boolean =>
  isUsable(host) &&
  hasLabels(host, service.requirement.labels) &&
  host.backfillReservedMemoryBytes <= host.memoryBytes &&
  host.backfillReservedCores <= host.cores + EPSILON;

/** Those with most of themselves left, since they may be free first. */
const emptiestFirst = (hosts: Iterable<Host>): Host[] =>
  Array.from(hosts, freeCapacityOf)
    .sort((a, b) => freeShare(b) - freeShare(a) || a.host.id - b.host.id)
    .map(({ host }) => host);

/** Where the essential services would go if the hosts were empty, each on the first that it fits; or null. */
function placeOnEmptyHosts(execution: Execution, hosts: readonly Host[]): Placement[] | null {
  const emptyHosts: FreeCapacity[] = hosts.map((host) => ({
    host,
    memoryBytes: host.memoryBytes,
    cores: host.cores,
  }));
  const placements: Placement[] = [];
  for (const service of largestFirst(essentialServices(execution))) {
    const capacity = emptyHosts.find((whole) => fits(whole, service.requirement));
    if (!capacity) return null;
    adjust(capacity, service.requirement, -1);
    placements.push({ service, host: capacity.host });
  }
  return placements;
}
