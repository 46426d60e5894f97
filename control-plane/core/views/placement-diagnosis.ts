/**
 * Owns why services find no host: for each need, at which filters hosts fail, how many do, and what they lack. It goes
 * through a gang by the very functions that place it, and so comes to the same end. Pure; never changes a host.
 */
import { type Execution, essentialServices } from '../model/execution.ts';
import type { Service } from '../model/service.ts';
import { withReservation } from '../scheduling/backfill-reservation.ts';
import { type FreeCapacity, freeCapacityOf } from '../scheduling/free-capacity.ts';
import type { Placement } from '../scheduling/gang-placement.ts';
import { type FailureExplanation, type FilterName, fits, hostFilters } from '../scheduling/host-filters.ts';
import { placeWithVictims } from '../scheduling/preemption.ts';
import type { Cluster } from '../state/cluster.ts';

/** Where services would go, or why they would not. */
export interface Diagnosis {
  /** Null where some are misfits. */
  placements: Placement[] | null;
  unplaceable: UnplaceableService[];
  /** The execution but for whose kept room they had a host. */
  backfillReservedFor: number | null;
}

/** Services of the same needs that no host takes. */
export interface UnplaceableService {
  /** The first of them. */
  service: Service;
  instances: number;
  /** Every host fails at one filter at least. */
  failures: Failure[];
}

/** A filter that hosts fail; for a cluster without hosts, the first filter. */
export interface Failure extends FailureExplanation {
  filter: FilterName;
  /** How many hosts fail. */
  hosts: number;
  /** How many hosts the filter examined. */
  of: number;
}

/** Tries to start an execution; `own` are elastic services that would go for its quota. */
export function diagnose(cluster: Cluster, execution: Execution, own: readonly Service[]): Diagnosis {
  const { reservation } = cluster;
  const essential = essentialServices(execution);
  const attempt = () => tryAll(cluster, essential, own);
  if (reservation?.execution === execution)
    return { ...withReservation(cluster, attempt), backfillReservedFor: null };
  const diagnosis = attempt();
  if (diagnosis.placements || !reservation) return { ...diagnosis, backfillReservedFor: null };
  const found = withReservation(cluster, () => placeWithVictims(cluster, essential, own));
  return { ...diagnosis, backfillReservedFor: found && reservation.execution.id };
}

/** Each is a look at every host. */
const MAX_UNPLACEABLE = 10;

/** Places all, or finds those that fit nowhere beside those that do, the largest needs first. */
function tryAll(
  cluster: Cluster,
  services: readonly Service[],
  own: readonly Service[],
): Omit<Diagnosis, 'backfillReservedFor'> {
  const unplaceable: UnplaceableService[] = [];
  let rest = services;
  let placed: Placement[] | undefined;
  while (!placed && unplaceable.length < MAX_UNPLACEABLE) {
    placed = placeWithVictims(cluster, rest, own, (missed, placements, left) => {
      const alike = rest.filter((service) => isAlike(service, missed));
      const capacity = new Set(placements.map(({ service }) => service));
      const without = alike.filter((service) => !capacity.has(service));
      unplaceable.push(unplaceableService(missed, without.length, placements.length, left));
      rest = rest.filter((service) => !isAlike(service, missed));
    })?.placements;
  }
  unplaceable.sort((a, b) => a.service.id - b.service.id);
  return { placements: unplaceable.length === 0 && placed ? placed : null, unplaceable };
}

/** Why elastic services of the same demand, for which nothing is preempted, find no host; undefined if one fits. */
export function diagnoseElastic(
  cluster: Cluster,
  service: Service,
  instances: number,
): UnplaceableService | undefined {
  const capacities = Array.from(cluster.hosts.values(), freeCapacityOf);
  return capacities.some((capacity) => fits(capacity, service.requirement))
    ? undefined
    : unplaceableService(service, instances, 0, capacities);
}

/** Whether two services ask for the same. */
export const isAlike = ({ requirement: a }: Service, { requirement: b }: Service): boolean =>
  a === b ||
  (a.memoryBytes === b.memoryBytes && a.cores === b.cores && a.labels.join(' ') === b.labels.join(' '));

function unplaceableService(
  service: Service,
  instances: number,
  beside: number,
  capacities: readonly FreeCapacity[],
): UnplaceableService {
  const { requirement, name } = service;
  const services = { name, instances, beside };
  const hosts = capacities.length;
  const failures: Failure[] = [];
  let examined = capacities;
  for (const filter of hosts > 0 ? hostFilters : hostFilters.slice(0, 1)) {
    const { failed = [], passed = [] } = Object.groupBy(examined, (capacity) =>
      filter.check(capacity, requirement) ? 'passed' : 'failed',
    );
    if (failed.length > 0 || hosts === 0) {
      const explained = filter.explain({ requirement, services, failed, examined, hosts });
      failures.push({ filter: filter.name, hosts: failed.length, of: examined.length, ...explained });
    }
    if (filter.narrows) examined = passed;
  }
  return { service, instances, failures };
}
