/**
 * Handles hosts that are ahead of the state because the database was restored from an older copy. Ids that
 * were assigned since then are not assigned again, and containers that were started since then are not
 * started twice (STORE-8 to STORE-10). Pure.
 */
import type { IdRange } from '../../../shared/protocol/assignment.ts';
import type { Observation, Up } from '../../../shared/protocol/up.ts';
import { type Execution, isEnded } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { Service } from '../model/service.ts';
import type { Cluster } from '../state/cluster.ts';
import { startGeneration } from './state-transitions.ts';

type Hello = Pick<Extract<Up, { type: 'hello' }>, 'highest' | 'inventory'>;

/** A larger gap is not an older copy, but an agent that would use up the ids. */
const MAX_SKIPPED_IDS = 100_000_000;

/** False if the ids of a host are beyond all that can have been assigned. */
export function isPlausible({ nextIds }: Cluster, hello: Hello): boolean {
  const { execution, service } = highestOf(hello);
  return execution - nextIds.execution < MAX_SKIPPED_IDS && service - nextIds.service < MAX_SKIPPED_IDS;
}

/** Skips ids that a host has seen. Skipped ids of services are recorded as unknown. */
export function skipIds(cluster: Cluster, hello: Hello): void {
  const { execution, service } = highestOf(hello);
  const { nextIds, unknown, changes } = cluster;
  if (execution < nextIds.execution && service < nextIds.service) return;
  if (service >= nextIds.service) {
    const range = { first: nextIds.service, last: service };
    unknown.push(range);
    changes.unknown.add(range);
  }
  nextIds.execution = Math.max(nextIds.execution, execution + 1);
  nextIds.service = Math.max(nextIds.service, service + 1);
  changes.raisedIds = { ...nextIds };
}

/** Services of an inventory that are in these ranges. */
export const unknownIn = (ranges: readonly IdRange[], inventory: readonly Observation[]): number[] => [
  ...new Set(inventory.map(({ service }) => service).filter((id) => ranges.some((range) => isIn(range, id)))),
];

const isIn = ({ first, last }: IdRange, id: number): boolean => first <= id && id <= last;

/**
 * Adopts containers of later starts than the state has. If the service is placed on the host, that start
 * becomes the current one. Otherwise the container is removed first, so that a later start does not run
 * beside it.
 */
export function adopt(cluster: Cluster, host: Host, inventory: readonly Observation[]): void {
  for (const { service: id, generation } of inventory) {
    const service = cluster.services.get(id);
    const execution = service && cluster.executions.get(service.executionId);
    if (execution && generation > service.generation) adoptOne(cluster, host, execution, service, generation);
  }
}

function adoptOne(
  cluster: Cluster,
  host: Host,
  execution: Execution,
  service: Service,
  generation: number,
): void {
  // A service that is placed elsewhere is reported by that host.
  if (isEnded(execution) || (service.placed && service.hostId !== host.id)) return;
  const continues = service.placed && !execution.ending;
  startGeneration(cluster, service, generation);
  cluster.recordHost(service, host);
  if (continues) return;
  service.status = 'terminating';
  // An execution that is queued in the copy has been started since: it starts again once no container of that
  // start is left.
  if (execution.status === 'queued' && !execution.ending) {
    execution.ending = { status: 'queued', message: 'it was started after this state was saved' };
    cluster.touch(execution);
  }
}

function highestOf({ highest, inventory }: Hello): { execution: number; service: number } {
  const seen = inventory.reduce((highestId, { service }) => Math.max(highestId, service), 0);
  return { execution: highest?.execution ?? 0, service: Math.max(highest?.service ?? 0, seen) };
}
