/**
 * Host removal: whether a host may be removed, and what becomes of its services. Executions return to the
 * queue with all their services. Containers that the control plane can no longer reach count as gone (HOST-9
 * to HOST-12). Pure.
 */

import { type Host, isReachable } from '../model/host.ts';
import { count } from '../model/text.ts';
import { releaseReservation } from '../scheduling/backfill-reservation.ts';
import type { Cluster } from '../state/cluster.ts';
import { countAsGone, requeueFrom, servicesLeftAt } from './drain.ts';

/** What became of the host's services. */
export interface HostRemoval {
  name: string;
  /** Ids of executions that return to the queue. */
  requeued: number[];
  /** How many containers may still be there. */
  leftBehind: number;
}

/**
 * Takes the host out of the cluster. Its containers count as gone, because no agent reports on them any more.
 */
export function removeHost(cluster: Cluster, host: Host, nowMs: number): HostRemoval {
  const leftBehind = [...cluster.servicesAt(host.id)].filter(({ status }) => status !== 'inactive').length;
  const requeued = requeueFrom(cluster, host, `host ${host.name} was removed`);
  if (cluster.reservation?.placements.some((placement) => placement.host === host))
    releaseReservation(cluster);
  cluster.removeHost(host, nowMs);
  for (const service of [...cluster.servicesAt(host.id)])
    countAsGone(cluster, service, `host ${host.name} was removed`, nowMs);
  return { name: host.name, requeued: requeued.map(({ id }) => id), leftBehind };
}

/**
 * Why the host must not be removed as it is; null if it may be. A service that starts elsewhere must not
 * still run here. A reachable host must therefore be empty; an unreachable one must be lost, or the
 * administrator must force its removal.
 */
export function removalBlocker(cluster: Cluster, host: Host, force: boolean): string | null {
  const left = servicesLeftAt(cluster, host).length;
  if (left === 0 || host.lost || (force && !isReachable(host))) return null;
  const has = `Host ${host.name} has ${count(left, 'service')}`;
  if (isReachable(host))
    return `${has} and is connected: drain it first (POST host/${host.id} with {"schedulable": false, "force": true} also moves its essential services), and remove it when it is empty; or stop its agent.`;
  return `${has} and is not connected, but not lost yet: wait until it is lost, or remove it with ?force=true if its containers no longer run.`;
}
