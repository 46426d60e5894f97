/** Owns who gets the room there is: queued executions first, in the order of the queue, then elastic services. Pure. */

import type { Execution } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { Cluster } from '../state/cluster.ts';
import type { Decision } from '../state/decision.ts';
import { placeHeld } from './backfill-reservation.ts';
import { Growth } from './capacity-increase.ts';
import { type Room, roomOf } from './free-capacity.ts';
import { placeAll } from './gang-placement.ts';
import { forQuota, placeByReclaiming, placeServices, type Reclaim } from './preemption.ts';
import type { Needs } from './resource-demand.ts';

/** Whether anybody is to be offered room. */
export const hasOffers = ({ queue, elastic, rooms, hold }: Cluster): boolean =>
  queue.isDue || elastic.isDue || rooms.grown.size > 0 || hold?.untried === true;

/** Places what fits and may have more than before, within hosts and quotas. */
export function fillRoom(cluster: Cluster, carryOut: (decision: Decision) => void): void {
  const { queue, elastic, rooms } = cluster;
  const grown = [...rooms.grown];
  rooms.grown.clear();
  if (grown.length > 0 || cluster.hold?.untried) placeHeld(cluster, carryOut);
  const standingOf = (userId: number) => cluster.standing(userId);
  const growthBy = (left: (host: Host) => Room) => (grown.length > 0 ? new Growth(grown, left) : undefined);
  for (const { item: execution, needs, refuse } of queue.offers(standingOf, growthBy(reclaimableOf))) {
    const isOver = cluster.excesses(execution.userId, needs.usage).length > 0;
    const found = rooms.mayHold(needs.usage) ? findRoom(cluster, execution, needs, isOver) : null;
    for (const service of found?.victims ?? []) carryOut({ kind: 'reclaim', service });
    if (found) carryOut({ kind: 'place', execution, placements: found.placements });
    else if (!isOver || fitsNowhere(cluster, execution, needs)) refuse();
  }
  for (const { item, needs, refuse } of elastic.offers(standingOf, growthBy(roomOf))) {
    const { execution, service } = item;
    if (cluster.excesses(execution.userId, needs.usage).length > 0) continue;
    const placements = placeAll([service], rooms);
    if (placements) carryOut({ kind: 'place', execution, placements });
    else refuse();
  }
}

/** Room for the essential services, free or else reclaimed; `isOver`: only with what the quota of the user gets back. */
function findRoom(cluster: Cluster, execution: Execution, needs: Needs, isOver: boolean): Reclaim | null {
  const essential = execution.services.filter((service) => service.essential);
  const placements = isOver ? null : placeAll(essential, cluster.rooms);
  return placements ? { placements, victims: [] } : placeByReclaiming(cluster, execution, needs);
}

/** Whether hosts hold what is over the quota, too: where they grow, its own elastic services may give it what it lacks there. */
function fitsNowhere(cluster: Cluster, execution: Execution, needs: Needs): boolean {
  if (!cluster.rooms.mayHold(needs.usage)) return true;
  if (!forQuota(cluster, execution, needs)) return false;
  const essential = execution.services.filter((service) => service.essential);
  return placeServices(cluster, essential, []) === null;
}

function reclaimableOf(host: Host): Room {
  const { memoryBytes, cores } = roomOf(host);
  return { host, memoryBytes: memoryBytes + host.elasticMemoryBytes, cores: cores + host.elasticCores };
}
