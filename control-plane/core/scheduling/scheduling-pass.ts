/**
 * Scheduling pass: places queued executions in the order of the queue, then elastic services, within the
 * capacity of the hosts and the quotas of the users. Pure.
 */

import { type Execution, essentialServices } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import { startReserved } from './backfill-reservation.ts';
import { CapacityIncrease } from './capacity-increase.ts';
import { type FreeCapacity, freeCapacityOf } from './free-capacity.ts';
import { placeGang } from './gang-placement.ts';
import {
  applyPlan,
  type PreemptionPlan,
  placeWithPreemption,
  placeWithVictims,
  victimsForQuota,
} from './preemption.ts';
import type { ResourceDemand } from './resource-demand.ts';
import type { SchedulerState, SchedulingActions } from './scheduler-state.ts';

/** Whether another pass may place anything. */
export const hasCandidates = ({ queue, elastic, hostIndex, reservation }: SchedulerState): boolean =>
  queue.isActive ||
  elastic.isActive ||
  hostIndex.withFreedCapacity.size > 0 ||
  reservation?.isUntried === true;

/** Tries each candidate once. */
export function runSchedulingPass(state: SchedulerState, actions: SchedulingActions): void {
  const freed = [...state.hostIndex.withFreedCapacity];
  state.hostIndex.withFreedCapacity.clear();
  if (freed.length > 0 || state.reservation?.isUntried) startReserved(state, actions);
  placeExecutions(state, actions, freed);
  placeElasticServices(state, actions, freed);
}

/** Places each execution with all of its essential services, or not at all. */
function placeExecutions(state: SchedulerState, actions: SchedulingActions, freed: readonly Host[]): void {
  const { queue } = state;
  const round = queue.beginRound(
    (userId) => state.fairShareKey(userId),
    increaseOf(freed, preemptibleCapacityOf),
  );
  for (let candidate = queue.next(round); candidate; candidate = queue.next(round)) {
    const { item: execution, demand } = candidate;
    const isOverQuota = state.exceededLimits(execution.userId, demand.usage).length > 0;
    const plan = findPlacement(state, execution, demand, isOverQuota);
    if (plan) applyPlan(actions, execution, plan);
    else if (!isOverQuota || lacksCapacity(state, execution, demand)) queue.markUnschedulable(candidate);
  }
}

/** Places each elastic service on its own, in free capacity only. */
function placeElasticServices(
  state: SchedulerState,
  actions: SchedulingActions,
  freed: readonly Host[],
): void {
  const { elastic, hostIndex } = state;
  const round = elastic.beginRound((userId) => state.fairShareKey(userId), increaseOf(freed, freeCapacityOf));
  for (let candidate = elastic.next(round); candidate; candidate = elastic.next(round)) {
    const { execution, service } = candidate.item;
    if (state.exceededLimits(execution.userId, candidate.demand.usage).length > 0) continue;
    const placements = placeGang([service], hostIndex);
    if (placements) actions.place(execution, placements);
    else elastic.markUnschedulable(candidate);
  }
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
  if (!state.hostIndex.mayFitInTotal(demand.usage)) return null;
  const placements = isOverQuota ? null : placeGang(essentialServices(execution), state.hostIndex);
  return placements ? { placements, victims: [] } : placeWithPreemption(state, execution, demand);
}

/**
 * True if no hosts could take an execution even with quota to spare. It then waits for capacity in addition
 * to quota, and must be tried again when hosts free some.
 */
function lacksCapacity(state: SchedulerState, execution: Execution, demand: ResourceDemand): boolean {
  if (!state.hostIndex.mayFitInTotal(demand.usage)) return true;
  if (!victimsForQuota(state, execution, demand)) return false;
  return placeWithVictims(state, essentialServices(execution), []) === null;
}

const increaseOf = (
  freed: readonly Host[],
  capacityOf: (host: Host) => FreeCapacity,
): CapacityIncrease | undefined => (freed.length > 0 ? new CapacityIncrease(freed, capacityOf) : undefined);

function preemptibleCapacityOf(host: Host): FreeCapacity {
  const { memoryBytes, cores } = freeCapacityOf(host);
  return { host, memoryBytes: memoryBytes + host.elasticMemoryBytes, cores: cores + host.elasticCores };
}
