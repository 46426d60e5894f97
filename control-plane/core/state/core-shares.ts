/**
 * Core shares: how many cores the services of each user may use together on a host while services of other
 * users want them (C212, SCHED-14). Pure.
 */
import { MICRO } from '../accounts/quota.ts';
import type { Cluster } from './cluster.ts';

export interface CoreShare {
  cores: number;
  /** The executions of one user with services on the host. */
  executions: number[];
}

interface Placed {
  executions: Set<number>;
  services: number;
  microCores: number;
}

/**
 * The shares of the users whose quota caps cores; none if the host has the services of one user only. A share
 * is what the user's services reserve on the host, and their equal part of what all services of the user
 * leave of the quota.
 */
export function coreSharesAt(cluster: Cluster, hostId: number): CoreShare[] {
  if (![...cluster.quotas.values()].some(({ cores }) => cores > 0)) return [];
  const byUser = placedByUser(cluster, hostId);
  if (byUser.size < 2) return [];
  return Array.from(byUser).flatMap(([userId, here]) => {
    const { cores } = cluster.quotaOf(userId);
    if (cores === 0) return [];
    const left = Math.max(0, cores * MICRO - cluster.usage(userId).microCores);
    const part = (left * here.services) / Math.max(1, cluster.placedOf(userId));
    return { cores: Math.floor(here.microCores + part) / MICRO, executions: [...here.executions] };
  });
}

function placedByUser(cluster: Cluster, hostId: number): Map<number, Placed> {
  const byUser = new Map<number, Placed>();
  for (const { placed, executionId, requirement } of cluster.servicesAt(hostId)) {
    const userId = placed ? cluster.executions.get(executionId)?.userId : undefined;
    if (userId === undefined) continue;
    const found = byUser.get(userId) ?? { executions: new Set(), services: 0, microCores: 0 };
    byUser.set(userId, found);
    found.executions.add(executionId);
    found.services += 1;
    found.microCores += Math.round(requirement.cores * MICRO);
  }
  return byUser;
}
