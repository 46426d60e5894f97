/** Owns who gets the room there is: queued executions first, in the order of the queue, then elastic services. Pure. */

import { type Execution, essentialServices } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { Cluster } from '../state/cluster.ts';
import type { Decision } from '../state/decision.ts';
import { startReserved } from './backfill-reservation.ts';
import { CapacityIncrease } from './capacity-increase.ts';
import { type FreeCapacity, freeCapacityOf } from './free-capacity.ts';
import { placeGang } from './gang-placement.ts';
import { type PreemptionPlan, placeWithPreemption, placeWithVictims, victimsForQuota } from './preemption.ts';
import type { ResourceDemand } from './resource-demand.ts';

/** Whether anybody is to be offered room. */
export const hasCandidates = ({ queue, elastic, hostIndex, reservation }: Cluster): boolean =>
  queue.isActive ||
  elastic.isActive ||
  hostIndex.withFreedCapacity.size > 0 ||
  reservation?.isUntried === true;

/** Places what fits and may have more than before, within hosts and quotas. */
export function runSchedulingPass(cluster: Cluster, carryOut: (decision: Decision) => void): void {
  const { queue, elastic, hostIndex } = cluster;
  const freed = [...hostIndex.withFreedCapacity];
  hostIndex.withFreedCapacity.clear();
  if (freed.length > 0 || cluster.reservation?.isUntried) startReserved(cluster, carryOut);
  const fairShareKeyOf = (userId: number) => cluster.fairShareKey(userId);
  const increaseBy = (left: (host: Host) => FreeCapacity) =>
    freed.length > 0 ? new CapacityIncrease(freed, left) : undefined;
  for (const { item: execution, demand, markUnschedulable } of queue.candidates(
    fairShareKeyOf,
    increaseBy(preemptableCapacityOf),
  )) {
    const isOverQuota = cluster.exceededLimits(execution.userId, demand.usage).length > 0;
    const found = hostIndex.mayFitInTotal(demand.usage)
      ? findPlacement(cluster, execution, demand, isOverQuota)
      : null;
    for (const service of found?.victims ?? []) carryOut({ kind: 'preempt', service });
    if (found) carryOut({ kind: 'place', execution, placements: found.placements });
    else if (!isOverQuota || lacksCapacity(cluster, execution, demand)) markUnschedulable();
  }
  for (const { item, demand, markUnschedulable } of elastic.candidates(
    fairShareKeyOf,
    increaseBy(freeCapacityOf),
  )) {
    const { execution, service } = item;
    if (cluster.exceededLimits(execution.userId, demand.usage).length > 0) continue;
    const placements = placeGang([service], hostIndex);
    if (placements) carryOut({ kind: 'place', execution, placements });
    else markUnschedulable();
  }
}

/** Room for the essential services, free or else reclaimed; `isOver`: only with what the quota of the user gets back. */
function findPlacement(
  cluster: Cluster,
  execution: Execution,
  demand: ResourceDemand,
  isOverQuota: boolean,
): PreemptionPlan | null {
  const essential = essentialServices(execution);
  const placements = isOverQuota ? null : placeGang(essential, cluster.hostIndex);
  return placements ? { placements, victims: [] } : placeWithPreemption(cluster, execution, demand);
}

/** Whether hosts hold what is over the quota, too: where they grow, its own elastic services may give it what it lacks there. */
function lacksCapacity(cluster: Cluster, execution: Execution, demand: ResourceDemand): boolean {
  if (!cluster.hostIndex.mayFitInTotal(demand.usage)) return true;
  if (!victimsForQuota(cluster, execution, demand)) return false;
  const essential = essentialServices(execution);
  return placeWithVictims(cluster, essential, []) === null;
}

function preemptableCapacityOf(host: Host): FreeCapacity {
  const { memoryBytes, cores } = freeCapacityOf(host);
  return { host, memoryBytes: memoryBytes + host.elasticMemoryBytes, cores: cores + host.elasticCores };
}
