/**
 * Handles hosts that are ahead of the state because the database was restored from an older copy. Ids that
 * were assigned since then are not assigned again, and containers that were started since then are not
 * started twice (STORE-8 to STORE-10). Pure.
 */
import type { IdRange, ProvenIds } from '../../../shared/protocol/assignment.ts';
import type { Observation, Up } from '../../../shared/protocol/up.ts';
import { type Execution, isEnded, isLoaded } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { Service } from '../model/service.ts';
import { lowerBound } from '../scheduling/queue-policy.ts';
import type { Cluster } from '../state/cluster.ts';
import { startGeneration } from './state-transitions.ts';

type Hello = Pick<Extract<Up, { type: 'hello' }>, 'highest' | 'idProofs' | 'inventory'>;

/** The highest ids of a host, and the highest ones that its proofs cover. 0: none. */
export interface SeenIds {
  highest: { execution: number; service: number };
  proven: { execution: number; service: number };
}

/** The ids that a host has seen. A wrong proof counts as none. */
export function seenIds(hello: Hello, isProof: (ids: ProvenIds) => boolean): SeenIds {
  const { highest, idProofs = [], inventory } = hello;
  const maxOf = (ids: readonly number[]) => ids.reduce((max, id) => Math.max(max, id), 0);
  const proofs = idProofs.filter(isProof);
  const proven = {
    execution: maxOf(proofs.map(({ execution }) => execution)),
    service: maxOf(proofs.map(({ service }) => service)),
  };
  return {
    highest: {
      execution: Math.max(highest?.execution ?? 0, proven.execution),
      service: Math.max(
        highest?.service ?? 0,
        maxOf(inventory.map(({ service }) => service)),
        proven.service,
      ),
    },
    proven,
  };
}

/** The number of ids that would be skipped although no proof covers them. */
export function unprovenAmong({ nextIds }: Cluster, { highest, proven }: SeenIds): number {
  const beyond = (of: 'execution' | 'service') =>
    Math.max(0, highest[of] - Math.max(nextIds[of] - 1, proven[of]));
  return beyond('execution') + beyond('service');
}

/**
 * Executions that wait without their services in memory, of which the inventory has containers: they must be
 * loaded before `adopt` compares the starts. They stay in memory until the containers are gone, so a host may
 * name only some (C220).
 */
export function waitingOwners(
  { executions, services, schedulerConfig }: Cluster,
  inventory: readonly Observation[],
): Execution[] {
  const unknown = inventory.map(({ service }) => service).filter((id) => !services.has(id));
  if (unknown.length === 0) return [];
  const ids = unknown.sort((a, b) => a - b);
  const owners: Execution[] = [];
  let room = schedulerConfig.bounds.adoptedInstances;
  for (const execution of executions.values()) {
    if (isLoaded(execution)) {
      if (execution.status === 'queued' && execution.ending) room -= sizeOf(execution);
      continue;
    }
    const first = ids[lowerBound(ids, execution.firstServiceId, (a, b) => a - b)];
    const isOwner = first !== undefined && first < execution.firstServiceId + execution.serviceCount;
    if (isOwner) owners.push(execution);
  }
  return owners.filter((execution) => {
    room -= sizeOf(execution);
    return room >= 0;
  });
}

const sizeOf = ({ serviceCount, descriptionBytes }: Execution): number =>
  serviceCount + Math.ceil(descriptionBytes / 1024);

/**
 * Skips ids that a host has seen. Skipped ids of services are recorded as unknown. Returns false and changes
 * nothing if too many of them have no proof: then a host could use up the ids.
 */
export function skipIds(cluster: Cluster, seen: SeenIds): boolean {
  const { nextIds, changes } = cluster;
  const { execution, service } = seen.highest;
  const unproven = unprovenAmong(cluster, seen);
  if (unproven > 0) {
    const total = cluster.unprovenIds + unproven;
    if (total > cluster.schedulerConfig.bounds.unprovenIds) return false;
    cluster.unprovenIds = total;
    changes.unprovenIds = total;
  }
  if (execution < nextIds.execution && service < nextIds.service) return true;
  if (service >= nextIds.service) addUnknown(cluster, { first: nextIds.service, last: service });
  nextIds.execution = Math.max(nextIds.execution, execution + 1);
  nextIds.service = Math.max(nextIds.service, service + 1);
  changes.raisedIds = { ...nextIds };
  return true;
}

/** Adjacent ranges become one, so that many small steps do not make many ranges. */
function addUnknown({ unknown, changes }: Cluster, added: IdRange): void {
  const before = unknown.at(-1);
  const range = before && before.last + 1 === added.first ? before : added;
  range.last = added.last;
  if (range === added) unknown.push(range);
  changes.unknown.add(range);
}

/** Services of an inventory that are in these ranges, which ascend. */
export const unknownIn = (ranges: readonly IdRange[], inventory: readonly Observation[]): number[] => [
  ...new Set(inventory.map(({ service }) => service).filter((id) => isWithin(ranges, id))),
];

function isWithin(ranges: readonly IdRange[], id: number): boolean {
  const range = ranges[lowerBound(ranges, id, ({ last }, sought) => last - sought)];
  return range !== undefined && range.first <= id;
}

/** No service can have been started more often. Later starts of its own must have room above. */
const MAX_GENERATION = 1e9;

/**
 * Adopts containers of later starts than the state has. If the service is placed on the host, that start
 * becomes the current one. Otherwise the container is removed first, so that a later start does not run
 * beside it.
 */
export function adopt(cluster: Cluster, host: Host, inventory: readonly Observation[], nowMs: number): void {
  for (const { service: id, generation } of inventory) {
    const service = cluster.services.get(id);
    const execution = service && cluster.executions.get(service.executionId);
    if (generation > MAX_GENERATION) continue;
    if (execution && generation > service.generation)
      adoptOne(cluster, host, execution, service, generation, nowMs);
  }
}

function adoptOne(
  cluster: Cluster,
  host: Host,
  execution: Execution,
  service: Service,
  generation: number,
  nowMs: number,
): void {
  // A service that is placed elsewhere is reported by that host.
  if (isEnded(execution) || (service.placed && service.hostId !== host.id)) return;
  const continues = service.placed && !execution.ending;
  cluster.recordHost(service, host);
  startGeneration(cluster, service, generation, nowMs);
  if (continues) return;
  service.status = 'terminating';
  // An execution that is queued in the copy has been started since: it starts again once no container of that
  // start is left.
  if (execution.status === 'queued' && !execution.ending) {
    execution.ending = { status: 'queued', message: 'it was started after this state was saved' };
    cluster.touch(execution);
  }
}
