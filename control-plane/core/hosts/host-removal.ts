/**
 * The removal of a host: whether it may be removed, and what becomes of its services. Executions return to the queue with
 * all their services; containers that the control plane can no longer reach count as gone. Pure.
 */

import { type Host, isReachable } from '../model/host.ts';
import { count } from '../model/text.ts';
import { releaseReservation } from '../scheduling/backfill-reservation.ts';
import type { Cluster } from '../state/cluster.ts';
import { countAsGone, requeueFrom, servicesLeftAt } from './drain.ts';

/** What became of the host's services when it was removed. */
export interface HostRemoval {
  name: string;
  /** Executions that go back to the queue. */
  requeued: number[];
  /** Containers that may still be there. */
  leftBehind: number;
}

/** Takes the host out of the cluster. Its containers, of which nobody will hear any more, count as gone. */
export function removeHost(cluster: Cluster, host: Host, nowMs: number): HostRemoval {
  const leftBehind = [...cluster.servicesAt(host.id)].filter(({ status }) => status !== 'inactive').length;
  const requeued = requeueFrom(cluster, host, `host ${host.name} was removed`);
  if (cluster.reservation?.placements.some((placement) => placement.host === host))
    releaseReservation(cluster);
  cluster.removeHost(host, nowMs);
  for (const service of [...cluster.servicesAt(host.id)]) countAsGone(cluster, service);
  return { name: host.name, requeued: requeued.map(({ id }) => id), leftBehind };
}

/**
 * Why the host is not to be removed as it is; null where it may. What is started elsewhere must not run there still, so
 * one that can be asked is emptied first, and of one that can't somebody must know (`force`), or it is lost.
 */
export function removalBlocker(cluster: Cluster, host: Host, force: boolean): string | null {
  const left = servicesLeftAt(cluster, host).length;
  if (left === 0 || host.lost || (force && !isReachable(host))) return null;
  const has = `Host ${host.name} has ${count(left, 'service')}`;
  if (isReachable(host))
    return `${has} and is connected: drain it first (POST host/${host.id} with {"schedulable": false, "force": true} also moves its essential services), and remove it when it is empty; or stop its agent.`;
  return `${has} and has not been away for long enough to count as lost: wait until it does, or remove it with ?force=true if its containers do not run any more.`;
}
