/** Owns what a host may not speak of: what another host was given to run (PROTOCOL.md P12). What only comes late is no such thing. Pure. */
import { keyOf, type ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { Report } from '../../../shared/protocol/up.ts';
import type { Host } from '../model/host.ts';
import type { Service } from '../model/service.ts';
import type { Cluster } from '../state/cluster.ts';

/**
 * Services in a report that its host can have no word on: of starts that others were given, or nobody was. `listed`: keys in
 * the inventory of its hello, which are of no start that it was given now, but of containers that are there.
 */
export function unauthorisedServices(
  cluster: Cluster,
  host: Host,
  { observations, forgotten }: Pick<Report, 'observations' | 'forgotten'>,
  listed: ReadonlySet<string>,
): number[] {
  const elsewhere = (id: number): Service | undefined => {
    const service = cluster.services.get(id);
    // One that has ended or was never known may have been here.
    return service && service.hostId !== host.id ? service : undefined;
  };
  const lies = observations.filter((key) => {
    const service = elsewhere(key.service);
    if (service === undefined || mayHaveBeenHere(service, key) || listed.has(keyOf(key))) return false;
    return key.state !== 'gone' || !mayBeForgotten(cluster, service, key);
  });
  const taken = forgotten.filter((id) => elsewhere(id)?.logs === 'forgetting');
  return [...new Set([...lies.map(({ service }) => service), ...taken])];
}

/** Services in an inventory whose very start another host was given: two hosts have one container, or one of them lies. */
export const duplicateStarts = (cluster: Cluster, host: Host, inventory: readonly ServiceKey[]): number[] =>
  inventory.flatMap(({ service: id, generation }) => {
    const service = cluster.services.get(id);
    const isAway = service && service.hostId !== host.id && service.status !== 'inactive';
    return isAway && service.generation === generation ? [id] : [];
  });

/** Where the database is an older copy, it may have been given before that, and its end be untold (C166). */
const mayBeForgotten = ({ unknown }: Cluster, { generation }: Service, key: ServiceKey): boolean =>
  key.generation > generation || unknown.length > 0;

/** Starts before that of now; and the last one, while the service waits to be started where it is placed next. */
const mayHaveBeenHere = ({ generation, status }: Service, key: ServiceKey): boolean =>
  key.generation < generation || (key.generation === generation && status === 'inactive');
