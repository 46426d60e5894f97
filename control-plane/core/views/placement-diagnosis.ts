/**
 * Placement diagnosis: why services find no host. For each demand it reports at which filters hosts fail, how
 * many fail, and what they lack. It attempts the placement with the functions of the scheduler, so that both
 * come to the same result (SCHED-9). Pure; never changes a host.
 */
import type { Execution } from '../model/execution.ts';
import type { Service } from '../model/service.ts';
import { withReservation } from '../scheduling/backfill-reservation.ts';
import { type FreeCapacity, freeCapacityOf } from '../scheduling/free-capacity.ts';
import { type GangMember, gangOf, gangServicesOf, type Placement } from '../scheduling/gang-placement.ts';
import { type FailureExplanation, type FilterName, fits, hostFilters } from '../scheduling/host-filters.ts';
import { placeWithVictims } from '../scheduling/preemption.ts';
import { requirementKey } from '../scheduling/resource-demand.ts';
import type { Cluster } from '../state/cluster.ts';

/** The hosts of all services, or why some find none. */
export interface Diagnosis {
  /** Null if some services are unplaceable. */
  placements: Placement<Service>[] | null;
  unplaceable: UnplaceableService[];
  /** The execution with a backfill reservation, if the reserved capacity is all that is missing. */
  backfillReservedFor: number | null;
}

/** Services with the same requirement that no host takes. */
export interface UnplaceableService {
  /** The first of these services. */
  service: Service;
  instances: number;
  /** Each host fails at least one of these filters. */
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

/** A member of the gang, with the service that it stands for. */
interface SeatedMember extends GangMember {
  service: Service;
}

function seatedMembersOf(execution: Execution): SeatedMember[] {
  const services = gangServicesOf(execution);
  return gangOf(execution).map((member, at) => ({ ...member, service: services[at] as Service }));
}

/**
 * Attempts to place an execution, whose services must be in memory; `own` are elastic services that would be
 * preempted for the user's quota.
 */
export function diagnose(cluster: Cluster, execution: Execution, own: readonly Service[]): Diagnosis {
  const { reservation } = cluster;
  const essential = seatedMembersOf(execution);
  const attempt = () => placeOrDiagnose(cluster, essential, own);
  if (reservation?.execution === execution)
    return { ...withReservation(cluster, attempt), backfillReservedFor: null };
  const diagnosis = attempt();
  if (diagnosis.placements || !reservation) return { ...diagnosis, backfillReservedFor: null };
  const found = withReservation(cluster, () => placeWithVictims(cluster, essential, own));
  return { ...diagnosis, backfillReservedFor: found && reservation.execution.id };
}

/** Limits the cost: each of these demands is checked against all hosts. */
const MAX_UNPLACEABLE = 10;

/** Places all services, or finds those that fit nowhere in addition to the others, the largest first. */
function placeOrDiagnose(
  cluster: Cluster,
  services: readonly SeatedMember[],
  own: readonly Service[],
): Omit<Diagnosis, 'backfillReservedFor'> {
  const unplaceable: UnplaceableService[] = [];
  let rest = services;
  let found: Placement<SeatedMember>[] | undefined;
  while (!found && unplaceable.length < MAX_UNPLACEABLE) {
    found = placeWithVictims(cluster, rest, own, (failed, placements, capacities) => {
      const placed = new Set(placements.map(({ service }) => service));
      const alike = rest.filter((service) => isAlike(service, failed) && !placed.has(service));
      unplaceable.push(unplaceableService(failed.service, alike.length, placements.length, capacities));
      rest = rest.filter((service) => !isAlike(service, failed));
    })?.placements;
  }
  unplaceable.sort((a, b) => a.service.id - b.service.id);
  const placements = found?.map(({ service: { service }, host }) => ({ service, host }));
  return { placements: unplaceable.length === 0 && placements ? placements : null, unplaceable };
}

/**
 * Why elastic services with the same requirement find no host; undefined if one takes them. Nothing is
 * preempted for these.
 */
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

/** Whether two services have the same requirement. */
export const isAlike = (
  { requirement: a }: Pick<Service, 'requirement'>,
  { requirement: b }: Pick<Service, 'requirement'>,
): boolean => a === b || requirementKey(a) === requirementKey(b);

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
