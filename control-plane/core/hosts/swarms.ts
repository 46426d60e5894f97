/** Swarms: which hosts' engines manage the swarm of another host's engine. Pure. */
import type { Host } from '../model/host.ts';
import type { Cluster } from '../state/cluster.ts';

/**
 * Returns a function that finds the hosts on which the swarm of a host is managed. Lost hosts do not count. A
 * worker does not see the id of its swarm, only the ids of the managers' engines.
 */
export function swarmManagers(cluster: Pick<Cluster, 'hosts'>): (host: Host) => readonly Host[] {
  let managers: Map<string, Host[]> | undefined;
  const read = () => {
    const found = new Map<string, Host[]>();
    for (const host of cluster.hosts.values())
      if (host.swarm?.isManager && !host.lost)
        found.set(host.swarm.node, [...(found.get(host.swarm.node) ?? []), host]);
    return found;
  };
  return ({ swarm }) => {
    if (!swarm) return [];
    managers ??= read();
    const known = new Set([swarm.node, ...swarm.managers]);
    return [...known].flatMap((node) => managers?.get(node) ?? []);
  };
}
