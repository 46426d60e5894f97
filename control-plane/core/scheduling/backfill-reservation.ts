/**
 * Backfill reservation: capacity reserved for one execution, so that later executions that fit cannot delay
 * it for ever. The candidate is the execution submitted first among those of the highest priority that are
 * within their quota and would fit on an idle cluster. It gets the reservation once it has been the candidate
 * for `backfillReserveAfterMs`, and no other execution is placed in the reserved capacity. The reservation
 * outlives a sleep of the coordinator, but after a restart the wait begins again (SCHED-5). Pure.
 */

import { type Execution, isLoaded, weightOf } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { ResourceDemand } from '../model/resources.ts';
import { placeOnEmptyHosts } from './feasibility.ts';
import { EPSILON, freeCapacityOf, freeShare } from './free-capacity.ts';
import { gangOf, type Placement, placeGang } from './gang-placement.ts';
import { hasLabels, isUsable, mountsFilesOf } from './host-filters.ts';
import { applyPlan, type PreemptionPlan, placeWithPreemption, preemptAt } from './preemption.ts';
import type { BackfillReservation, Loading, SchedulerState, SchedulingActions } from './scheduler-state.ts';
import { exceededPlacedBound } from './scheduler-state.ts';

/** A reservation as a coordinator that sleeps saves it. */
export interface SavedReservation extends Pick<BackfillReservation, 'dueMs'> {
  executionId: number;
  /** The hosts of the reserved capacity, one for each member of the gang; empty while none is reserved. */
  hostIds: number[];
}

/** Follows changes of the candidate, and reserves capacity for it once its time has come. */
export function updateReservation(state: SchedulerState, nowMs: number): void {
  const { queue, reservation } = state;
  const first = queue.oldest(
    (userId) => state.fairShareKey(userId),
    (execution, demand) => isEligible(state, execution, demand),
  );
  if (reservation && (reservation.execution !== first || !reservation.placements.every(isSound)))
    releaseReservation(state);
  if (!first) {
    state.reservation = null;
    return;
  }
  if (reservation?.execution !== first) {
    const dueMs = nowMs + state.schedulerConfig.backfillReserveAfterMs;
    state.reservation = { execution: first, dueMs, placements: [], isUntried: false };
  }
  const { reservation: current } = state;
  if (!current || (current.dueMs ?? 0) > nowMs || current.placements.length > 0) return;
  current.dueMs = null;
  current.placements = placeOnEmptyHosts(first, emptiestFirst(state.hosts.values())) ?? [];
  current.isUntried = current.placements.length > 0;
  reserve(state, current.placements, 1);
}

/**
 * Starts the execution with the reservation if it can start now, in the reserved capacity or anywhere else.
 * Yields it first if it is not in memory.
 */
export function* startReserved(state: SchedulerState, actions: SchedulingActions): Loading {
  const { reservation, hostIndex } = state;
  if (!reservation || reservation.placements.length === 0) return;
  const { execution, placements } = reservation;
  reservation.isUntried = false;
  const { demand } = execution;
  if (!state.queue.has(execution) || state.exceededBy(execution.userId, demand).length > 0) return;
  if (exceededPlacedBound(state, weightOf(execution))) return;
  const plan: PreemptionPlan | null =
    withReservation(state, () => withoutVictims(placeGang(gangOf(execution), hostIndex))) ??
    withReservation(state, () => placeWithPreemption(state, execution, demand)) ??
    preemptAt(state, placements);
  if (!plan) return;
  if (!isLoaded(execution)) yield [execution];
  releaseReservation(state);
  state.reservation = null;
  applyPlan(actions, execution, plan);
}

/** Runs `find` with the reserved capacity counted as free. */
export function withReservation<T>({ reservation, hostIndex }: SchedulerState, find: () => T): T {
  for (const { service, host } of reservation?.placements ?? [])
    hostIndex.assume(host, service.requirement, 1);
  const found = find();
  for (const { host } of reservation?.placements ?? []) hostIndex.forgetAssumed(host);
  return found;
}

const withoutVictims = (placements: Placement[] | null): PreemptionPlan | null =>
  placements && { placements, victims: [] };

/**
 * Releases the reserved capacity. `updateReservation` reserves other capacity if the reservation is still
 * due.
 */
export function releaseReservation(state: SchedulerState): void {
  const { reservation } = state;
  if (!reservation) return;
  reserve(state, reservation.placements, -1);
  reservation.placements = [];
}

export function savedReservation({ reservation }: SchedulerState): SavedReservation | null {
  if (!reservation) return null;
  const { execution, dueMs, placements } = reservation;
  return { executionId: execution.id, dueMs, hostIds: placements.map(({ host }) => host.id) };
}

/** Continues a saved reservation. `updateReservation` ends it if the candidate is another one by then. */
export function restoreReservation(state: SchedulerState, saved: SavedReservation): void {
  const execution = state.executions.get(saved.executionId);
  if (!execution) return;
  const gang = gangOf(execution);
  const seats = gang.flatMap((service, at): Placement[] => {
    const host = state.hosts.get(saved.hostIds[at] ?? 0);
    return host ? [{ service, host }] : [];
  });
  const placements = seats.length === gang.length ? seats : [];
  state.reservation = { execution, dueMs: saved.dueMs, placements, isUntried: placements.length > 0 };
  reserve(state, placements, 1);
}

function reserve(state: SchedulerState, placements: readonly Placement[], sign: 1 | -1): void {
  for (const { service, host } of placements) {
    host.backfillReservedMemoryBytes += sign * service.requirement.memoryBytes;
    host.backfillReservedCores += sign * service.requirement.cores;
    state.hostIndex.update(host);
  }
}

const isEligible = (state: SchedulerState, execution: Execution, demand: ResourceDemand): boolean =>
  state.exceededBy(execution.userId, demand).length === 0 &&
  state.feasibility.isFeasible(execution, demand, state.hosts, state.hostIndex.version);

/** Whether the service could still run on the host once the host is idle. */
const isSound = ({ service, host }: Placement): boolean =>
  isUsable(host) &&
  hasLabels(host, service.requirement.labels) &&
  mountsFilesOf(host, service.requirement) &&
  host.backfillReservedMemoryBytes <= host.memoryBytes &&
  host.backfillReservedCores <= host.cores + EPSILON;

/** Hosts with the largest free share first, since they may be idle soonest. */
const emptiestFirst = (hosts: Iterable<Host>): Host[] =>
  Array.from(hosts, freeCapacityOf)
    .sort((a, b) => freeShare(b) - freeShare(a) || a.host.id - b.host.id)
    .map(({ host }) => host);
