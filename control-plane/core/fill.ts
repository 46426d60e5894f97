/** Owns who gets the room there is: queued executions first, in the order of the queue, then elastic services. Pure. */
import type { Cluster } from './cluster.ts';
import type { Decision } from './decision.ts';
import type { Execution } from './execution.ts';
import { placeHeld } from './hold.ts';
import type { Host } from './host.ts';
import type { Needs } from './needs.ts';
import { placeAll } from './place.ts';
import { placeByReclaiming, type Reclaim } from './reclaim.ts';
import { fits, type Room, roomOf } from './room.ts';
import type { Requirement } from './service.ts';

/** Of more hosts than these each is not looked at: whatever fitted nowhere is tried again. */
const MANY_HOSTS = 100;

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
  const mayReclaim = mayFit(grown, reclaimableOf);
  if (grown.length > 0) queue.wakeUnfit(mayReclaim);
  for (const { item: execution, needs, woken, refuse } of queue.offers(standingOf)) {
    const isOver = cluster.excesses(execution.userId, needs.usage).length > 0;
    const hopeless = woken && !needs.requirements.some(mayReclaim);
    const found = hopeless ? null : findRoom(cluster, execution, needs, isOver);
    for (const service of found?.victims ?? []) carryOut({ kind: 'reclaim', service });
    if (found) carryOut({ kind: 'place', execution, placements: found.placements });
    else if (!isOver) refuse();
  }
  const mayPlace = mayFit(grown, roomOf);
  if (grown.length > 0) elastic.wakeUnfit(mayPlace);
  for (const { item, needs, woken, refuse } of elastic.offers(standingOf)) {
    const { execution, service } = item;
    if (cluster.excesses(execution.userId, needs.usage).length > 0) continue;
    const hopeless = woken && !needs.requirements.some(mayPlace);
    const placements = hopeless ? null : placeAll([service], rooms);
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

/** Whether a need may fit now on one of the hosts that grew. */
const mayFit =
  (grown: readonly Host[], left: (host: Host) => Room) =>
  (need: Requirement): boolean =>
    grown.length > MANY_HOSTS || grown.some((host) => fits(left(host), need));

function reclaimableOf(host: Host): Room {
  const { memoryBytes, cores } = roomOf(host);
  return { host, memoryBytes: memoryBytes + host.elasticMemoryBytes, cores: cores + host.elasticCores };
}
