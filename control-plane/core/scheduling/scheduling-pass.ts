/**
 * Scheduling pass: places queued executions in the order of the queue, then elastic services, within the
 * capacity of the hosts and the quotas of the users. Pure.
 */

import { type Execution, isLoaded, weightOf } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { ResourceDemand } from '../model/resources.ts';
import { startReserved } from './backfill-reservation.ts';
import { CapacityIncrease } from './capacity-increase.ts';
import { type FreeCapacity, freeCapacityOf } from './free-capacity.ts';
import { gangOf, placeGang } from './gang-placement.ts';
import {
  applyPlan,
  type PreemptionPlan,
  placeWithPreemption,
  placeWithVictims,
  victimsForQuota,
} from './preemption.ts';
import type { Loading, SchedulerState, SchedulingActions } from './scheduler-state.ts';
import { exceededPlacedBound, isFull } from './scheduler-state.ts';

/** Whether another pass may place anything. */
export function hasCandidates(state: SchedulerState): boolean {
  if (isFull(state)) return false;
  const { queue, elastic, hostIndex, reservation } = state;
  return (
    queue.isActive ||
    elastic.isActive ||
    hostIndex.withFreedCapacity.size > 0 ||
    reservation?.isUntried === true
  );
}

/**
 * Tries each candidate once. Yields executions that are about to be placed and are not in memory; the caller
 * loads them before it continues.
 */
export function* runSchedulingPass(state: SchedulerState, actions: SchedulingActions): Loading {
  if (isFull(state)) return;
  const freed = [...state.hostIndex.withFreedCapacity];
  state.hostIndex.withFreedCapacity.clear();
  if (freed.length > 0 || state.reservation?.isUntried) yield* startReserved(state, actions);
  yield* placeExecutions(state, actions, freed);
  placeElasticServices(state, actions, freed);
  // The pass may have stopped before it tried what fits on these hosts.
  if (isFull(state)) for (const host of freed) state.hostIndex.withFreedCapacity.add(host);
}

/** Places each execution with all of its essential services, or not at all. */
function* placeExecutions(
  state: SchedulerState,
  actions: SchedulingActions,
  freed: readonly Host[],
): Loading {
  const { queue } = state;
  const round = queue.beginRound(
    (userId) => state.fairShareKey(userId),
    increaseOf(freed, preemptibleCapacityOf),
  );
  while (!isFull(state)) {
    const candidate = queue.next(round);
    if (!candidate) break;
    const { item: execution, demand } = candidate;
    if (isOverBound(state, weightOf(execution))) continue;
    const isOverQuota = state.exceededBy(execution.userId, demand).length > 0;
    const plan = findPlacement(state, execution, demand, isOverQuota);
    if (plan) {
      if (!isLoaded(execution)) yield [execution];
      applyPlan(actions, execution, plan);
    } else if (!isOverQuota || lacksCapacity(state, execution, demand)) queue.markUnschedulable(candidate);
  }
  queue.endTry(round);
}

/** Places each elastic service on its own, in free capacity only. */
function placeElasticServices(
  state: SchedulerState,
  actions: SchedulingActions,
  freed: readonly Host[],
): void {
  const { elastic, hostIndex } = state;
  const round = elastic.beginRound((userId) => state.fairShareKey(userId), increaseOf(freed, freeCapacityOf));
  while (!isFull(state)) {
    const candidate = elastic.next(round);
    if (!candidate) break;
    const { execution, service } = candidate.item;
    if (isOverBound(state, candidate.demand.weight)) continue;
    if (state.exceededBy(execution.userId, candidate.demand).length > 0) continue;
    const placements = placeGang([service], hostIndex);
    if (placements) actions.place(execution, placements);
    else elastic.markUnschedulable(candidate);
  }
  elastic.endTry(round);
}

/** Whether the bound on placed instances prevents the start, until enough services have ended. */
function isOverBound(state: SchedulerState, weight: number): boolean {
  if (!exceededPlacedBound(state, weight)) return false;
  state.leastOverBound = Math.min(state.leastOverBound ?? weight, weight);
  return true;
}

/**
 * Finds hosts for the essential services: in free capacity, or else with preemption. An execution that is
 * over its quota can only be placed with preemption.
 */
function findPlacement(
  state: SchedulerState,
  execution: Execution,
  demand: ResourceDemand,
  isOverQuota: boolean,
): PreemptionPlan | null {
  if (!state.hostIndex.mayFitInTotal(demand.reserved)) return null;
  const placements = isOverQuota ? null : placeGang(gangOf(execution), state.hostIndex);
  return placements ? { placements, victims: [] } : placeWithPreemption(state, execution, demand);
}

/**
 * True if no hosts could take an execution even with quota to spare. It then waits for capacity in addition
 * to quota, and must be tried again when hosts free some.
 */
function lacksCapacity(state: SchedulerState, execution: Execution, demand: ResourceDemand): boolean {
  if (!state.hostIndex.mayFitInTotal(demand.reserved)) return true;
  if (!victimsForQuota(state, execution, demand)) return false;
  return placeWithVictims(state, gangOf(execution), []) === null;
}

const increaseOf = (
  freed: readonly Host[],
  capacityOf: (host: Host) => FreeCapacity,
): CapacityIncrease | undefined => (freed.length > 0 ? new CapacityIncrease(freed, capacityOf) : undefined);

function preemptibleCapacityOf(host: Host): FreeCapacity {
  const { memoryBytes, cores } = freeCapacityOf(host);
  return { host, memoryBytes: memoryBytes + host.elasticMemoryBytes, cores: cores + host.elasticCores };
}
