/** Ids that hosts have seen: reserves them, and logs those without a proof. */
import { type SeenIds, skipIds, unprovenAmong } from '../../core/lifecycle/restored-database.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import type { Logger } from '../ports.ts';

/** For the agent's log. A close reason holds at most 120 characters. */
export const UNPROVEN =
  'too many ids without a proof: see agent.unproven-ids in the log of the control plane';

/**
 * Reserves the ids that the host has seen, even if the database is older than they are. Returns false, and
 * reserves none, if too many have no proof.
 */
export function reserveIds(cluster: Cluster, host: string, seen: SeenIds, log: Logger): boolean {
  const unproven = unprovenAmong(cluster, seen);
  const isAccepted = skipIds(cluster, seen);
  if (unproven > 0) {
    const limit = cluster.schedulerConfig.bounds.unprovenIds;
    const fields = { host, ...seen.highest, unproven, total: cluster.unprovenIds, limit };
    log('agent.unproven-ids', { ...fields, decision: isAccepted ? 'skip' : 'refuse' });
  }
  return isAccepted;
}
