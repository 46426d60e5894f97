/**
 * Owns why services find no host: for each need, at which filters hosts fail, how many do, and what they lack. It goes
 * through a gang by the very functions that place it, and so comes to the same end. Pure; never changes a host.
 */
import type { Condition } from '../../../shared/protocol/up.ts';
import { MICRO } from '../accounts/quota.ts';
import { type Execution, essentialServices } from '../model/execution.ts';
import { blockingConditionOf, isReachable } from '../model/host.ts';
import type { Requirement } from '../model/resources.ts';
import type { Service } from '../model/service.ts';
import { withReservation } from '../scheduling/backfill-reservation.ts';
import {
  type FilterName,
  type FreeCapacity,
  filters,
  fits,
  freeCapacityOf,
} from '../scheduling/free-capacity.ts';
import type { Placement } from '../scheduling/gang-placement.ts';
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
  /** Others that have room, and which these come on top of. */
  beside: number;
  /** Every host fails at one filter at least. */
  failures: Failure[];
}

/** A filter that hosts fail (without any host: that there is none), of so many that were asked: all, those that are schedulable, those with the labels. */
export type Failure = { hosts: number; of: number } & (
  | ({ filter: 'schedulable' } & Outages)
  /** Of the labels those that none of the asked hosts has or, where each is somewhere, all. */
  | { filter: 'labels'; labels: readonly string[] }
  /** Bytes or cores: `missing` is what the nearest of the hosts lacks (more than all, where more is kept than is left), `largest` what the largest of them has in all. */
  | { filter: 'memory' | 'cores'; missing: number; largest: number }
);

/** Why hosts take nothing; each counts once. */
interface Outages {
  disconnected: number;
  drained: number;
  /** By the kind of condition for which they take nothing: these conditions. */
  blocked: ReadonlyMap<string, readonly Condition[]>;
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

/** Why an elastic service, which nobody goes for, finds no host; undefined where it finds one. */
export function diagnoseElastic(cluster: Cluster, service: Service): UnplaceableService | undefined {
  const capacities = Array.from(cluster.hosts.values(), freeCapacityOf);
  return capacities.some((capacity) => fits(capacity, service.requirement))
    ? undefined
    : unplaceableService(service, 1, 0, capacities);
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
  const { requirement } = service;
  const [unschedulable, schedulable] = split(capacities, 'schedulable', requirement);
  const [unlabelled, labelled] = split(schedulable, 'labels', requirement);
  const [small] = split(labelled, 'memory', requirement);
  const [busy] = split(labelled, 'cores', requirement);
  const failures: Failure[] = [
    { filter: 'schedulable', hosts: unschedulable.length, of: capacities.length, ...outages(unschedulable) },
    {
      filter: 'labels',
      hosts: unlabelled.length,
      of: schedulable.length,
      labels: lackedLabels(requirement.labels, schedulable),
    },
    {
      filter: 'memory',
      hosts: small.length,
      of: labelled.length,
      missing: least(small, (capacity) => requirement.memoryBytes - capacity.memoryBytes),
      largest: most(small, ({ host }) => host.memoryBytes),
    },
    {
      filter: 'cores',
      hosts: busy.length,
      of: labelled.length,
      missing: Math.round(least(busy, (capacity) => requirement.cores - capacity.cores) * MICRO) / MICRO,
      largest: most(busy, ({ host }) => host.cores),
    },
  ];
  // Where there is no host at all, that is what is told.
  const told = failures.filter(({ hosts }) => hosts > 0);
  return { service, instances, beside, failures: capacities.length > 0 ? told : failures.slice(0, 1) };
}

/** Those that fail the filter, and those that pass it. */
function split(
  capacities: readonly FreeCapacity[],
  name: FilterName,
  requirement: Requirement,
): [failed: FreeCapacity[], passed: FreeCapacity[]] {
  const filter = filters.find((one) => one.name === name);
  const { failed = [], passed = [] } = Object.groupBy(capacities, (capacity) =>
    filter?.check(capacity, requirement) ? 'passed' : 'failed',
  );
  return [failed, passed];
}

function outages(capacities: readonly FreeCapacity[]): Outages {
  const reachable = capacities.filter(({ host }) => isReachable(host));
  const paused = reachable.flatMap(({ host }) => (host.schedulable ? (blockingConditionOf(host) ?? []) : []));
  return {
    disconnected: capacities.length - reachable.length,
    drained: reachable.length - paused.length,
    blocked: Map.groupBy(paused, ({ kind }) => kind),
  };
}

function lackedLabels(labels: readonly string[], capacities: readonly FreeCapacity[]): readonly string[] {
  const lacked = labels.filter((label) => !capacities.some(({ host }) => host.labels.includes(label)));
  return lacked.length > 0 ? lacked : labels;
}

const least = (capacities: readonly FreeCapacity[], of: (capacity: FreeCapacity) => number): number =>
  capacities.reduce((found, capacity) => Math.min(found, of(capacity)), Number.POSITIVE_INFINITY);
const most = (capacities: readonly FreeCapacity[], of: (capacity: FreeCapacity) => number): number =>
  capacities.reduce((found, capacity) => Math.max(found, of(capacity)), 0);
