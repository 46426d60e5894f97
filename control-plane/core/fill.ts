/** Owns who gets the room there is: queued executions first, in the order of the queue, then elastic services. Pure. */
import type { Cluster } from './cluster.ts';
import type { Decision } from './decision.ts';
import { placeHeld } from './hold.ts';
import type { Host } from './host.ts';
import { placeAll } from './place.ts';
import { placeByReclaiming } from './reclaim.ts';
import { fits, type Room, roomOf } from './room.ts';

/** Of more hosts than these each is not looked at: whatever fitted nowhere is tried again. */
const MANY_HOSTS = 100;

/** Whether anybody is to be offered room. */
export const hasOffers = ({ queue, elastic, rooms }: Cluster): boolean =>
  queue.isDue || elastic.isDue || rooms.grown.size > 0;

/** Places what fits and may have more than before, within hosts and quotas. */
export function fillRoom(cluster: Cluster, carryOut: (decision: Decision) => void): void {
  const { queue, elastic, rooms } = cluster;
  wakeUnfit(cluster);
  placeHeld(cluster, carryOut);
  const standingOf = (userId: number) => cluster.standing(userId);
  for (const { item: execution, needs, refuse } of queue.offers(standingOf)) {
    const over = cluster.excesses(execution.userId, needs.usage);
    const essential = execution.services.filter((service) => service.essential);
    const placements = over.length === 0 ? placeAll(essential, rooms) : null;
    const reclaim = placements ? { placements, victims: [] } : placeByReclaiming(cluster, execution, needs);
    for (const service of reclaim?.victims ?? []) carryOut({ kind: 'reclaim', service });
    if (reclaim) carryOut({ kind: 'place', execution, placements: reclaim.placements });
    else if (over.length === 0) refuse();
  }
  for (const { item, needs, refuse } of elastic.offers(standingOf)) {
    const { execution, service } = item;
    if (cluster.excesses(execution.userId, needs.usage).length > 0) continue;
    const placements = placeAll([service], rooms);
    if (placements) carryOut({ kind: 'place', execution, placements });
    else refuse();
  }
}

/** Has those tried again of whom a part may fit on a host that grew. */
function wakeUnfit({ queue, elastic, rooms }: Cluster): void {
  const grown = [...rooms.grown];
  if (grown.length === 0) return;
  rooms.grown.clear();
  const many = grown.length > MANY_HOSTS;
  const left = grown.map(roomOf);
  const reclaimable = grown.map(reclaimableOf);
  queue.wakeUnfit((need) => many || reclaimable.some((room) => fits(room, need)));
  elastic.wakeUnfit((need) => many || left.some((room) => fits(room, need)));
}

function reclaimableOf(host: Host): Room {
  const { memoryBytes, cores } = roomOf(host);
  return { host, memoryBytes: memoryBytes + host.elasticMemoryBytes, cores: cores + host.elasticCores };
}
