/**
 * Rejects reports about starts that were assigned to another host (PROTOCOL.md P12). Late reports about an
 * earlier start are legitimate (HOST-5). Pure.
 */
import { keyOf, type ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { Report } from '../../../shared/protocol/up.ts';
import type { Host } from '../model/host.ts';
import type { Service } from '../model/service.ts';
import type { Cluster } from '../state/cluster.ts';

/**
 * Ids of services that the host must not report on, because another host or no host was given the start.
 * `listed` has the keys in the inventory of the host's hello. Such a container exists there, even if its
 * start is not assigned to this host.
 */
export function unauthorisedServices(
  cluster: Cluster,
  host: Host,
  { observations, forgotten }: Pick<Report, 'observations' | 'forgotten'>,
  listed: ReadonlySet<string>,
): number[] {
  const assignedElsewhere = (id: number): Service | undefined => {
    const service = cluster.services.get(id);
    // An unknown service may have ended, and may have been on this host before.
    return service && service.hostId !== host.id ? service : undefined;
  };
  const unauthorised = observations.filter((key) => {
    const service = assignedElsewhere(key.service);
    if (service === undefined || mayHaveBeenHere(service, key) || listed.has(keyOf(key))) return false;
    return key.state !== 'gone' || !mayBeUnreported(cluster, service, key);
  });
  const withLogsElsewhere = forgotten.filter((id) => assignedElsewhere(id)?.logs === 'forgetting');
  return [...new Set([...unauthorised.map(({ service }) => service), ...withLogsElsewhere])];
}

/**
 * Services in an inventory whose very start is assigned to another host. Two hosts then have that container,
 * or one reports falsely.
 */
export const duplicateStarts = (cluster: Cluster, host: Host, inventory: readonly ServiceKey[]): number[] =>
  inventory.flatMap(({ service: id, generation }) => {
    const service = cluster.services.get(id);
    const isElsewhere = service && service.hostId !== host.id && service.status !== 'inactive';
    return isElsewhere && service.generation === generation ? [id] : [];
  });

/**
 * If the database is an older copy, the host may have got the start before, without having reported its end
 * (C166).
 */
const mayBeUnreported = ({ unknown }: Cluster, { generation }: Service, key: ServiceKey): boolean =>
  key.generation > generation || unknown.length > 0;

/**
 * An earlier start may have been on any host. So may the last one, while the service waits for its next
 * start.
 */
const mayHaveBeenHere = ({ generation, status }: Service, key: ServiceKey): boolean =>
  key.generation < generation || (key.generation === generation && status === 'inactive');
