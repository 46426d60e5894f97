/** Owns who gets the room there is: queued executions first, in the order of the queue, then elastic services. Pure. */
import type { Cluster } from './cluster.ts';
import type { Decision } from './decision.ts';
import { placeHeld } from './hold.ts';
import type { Host } from './host.ts';
import { placeAll } from './place.ts';
import { placeByReclaiming } from './reclaim.ts';
import { fits, type Room, roomOf } from './room.ts';
import type { Requirement } from './service.ts';

/** Of more hosts than these each is not looked at: whatever fitted nowhere is tried again. */
const MANY_HOSTS = 100;

/** Whether anybody is to be offered room. */
export const hasOffers = ({ queue, elastic, rooms }: Cluster): boolean =>
  queue.isDue || elastic.isDue || rooms.grown.size > 0;

/** Places what fits and may have more than before, within hosts and quotas. */
export function fillRoom(cluster: Cluster, carryOut: (decision: Decision) => void): void {
  const { queue, elastic, rooms } = cluster;
  const grown = [...rooms.grown];
  rooms.grown.clear();
  placeHeld(cluster, carryOut);
  const standingOf = (userId: number) => cluster.standing(userId);
  const mayReclaim = mayFit(grown, reclaimableOf);
  if (grown.length > 0) queue.wakeUnfit(mayReclaim);
  for (const { item: execution, needs, woken, refuse } of queue.offers(standingOf)) {
    const over = cluster.excesses(execution.userId, needs.usage);
    const hopeless = woken && !needs.requirements.some(mayReclaim);
    const essential = execution.services.filter((service) => service.essential);
    const placements = over.length === 0 && !hopeless ? placeAll(essential, rooms) : null;
    const reclaim = placements
      ? { placements, victims: [] }
      : hopeless
        ? null
        : placeByReclaiming(cluster, execution, needs);
    for (const service of reclaim?.victims ?? []) carryOut({ kind: 'reclaim', service });
    if (reclaim) carryOut({ kind: 'place', execution, placements: reclaim.placements });
    else if (over.length === 0) refuse();
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

/** Whether a need may fit now on one of the hosts that grew. */
const mayFit =
  (grown: readonly Host[], left: (host: Host) => Room) =>
  (need: Requirement): boolean =>
    grown.length > MANY_HOSTS || grown.some((host) => fits(left(host), need));

function reclaimableOf(host: Host): Room {
  const { memoryBytes, cores } = roomOf(host);
  return { host, memoryBytes: memoryBytes + host.elasticMemoryBytes, cores: cores + host.elasticCores };
}
