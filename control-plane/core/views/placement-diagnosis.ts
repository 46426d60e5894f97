/**
 * Owns why services find no host: for each need, at which filters hosts fail, how many do, and what they lack. It goes
 * through a gang by the very functions that place it, and so comes to the same end. Pure; never changes a host.
 */
import type { Condition } from '../../../shared/protocol/up.ts';
import { MICRO } from '../accounts/quota.ts';
import type { Execution } from '../model/execution.ts';
import { isReachable, pauseOf } from '../model/host.ts';
import type { Requirement, Service } from '../model/service.ts';
import { withKeptRoom } from '../scheduling/backfill-reservation.ts';
import { type FilterName, filters, fits, type Room, roomOf } from '../scheduling/free-capacity.ts';
import type { Placement } from '../scheduling/gang-placement.ts';
import { placeServices } from '../scheduling/preemption.ts';
import type { Cluster } from '../state/cluster.ts';

/** Where services would go, or why they would not. */
export interface Trial {
  /** Null where some are misfits. */
  placements: Placement[] | null;
  misfits: Misfit[];
  /** The execution but for whose kept room they had a host. */
  keptFor: number | null;
}

/** Services of the same needs that no host takes. */
export interface Misfit {
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
  paused: ReadonlyMap<string, readonly Condition[]>;
}

/** Tries to start an execution; `own` are elastic services that would go for its quota. */
export function tryStart(cluster: Cluster, execution: Execution, own: readonly Service[]): Trial {
  const { hold } = cluster;
  const essential = execution.services.filter((service) => service.essential);
  const tried = () => tryAll(cluster, essential, own);
  if (hold?.execution === execution) return { ...withKeptRoom(cluster, tried), keptFor: null };
  const trial = tried();
  if (trial.placements || !hold) return { ...trial, keptFor: null };
  const found = withKeptRoom(cluster, () => placeServices(cluster, essential, own));
  return { ...trial, keptFor: found && hold.execution.id };
}

/** Each is a look at every host. */
const MOST_MISFITS = 10;

/** Places all, or finds those that fit nowhere beside those that do, the largest needs first. */
function tryAll(
  cluster: Cluster,
  services: readonly Service[],
  own: readonly Service[],
): Omit<Trial, 'keptFor'> {
  const misfits: Misfit[] = [];
  let rest = services;
  let placed: Placement[] | undefined;
  while (!placed && misfits.length < MOST_MISFITS) {
    placed = placeServices(cluster, rest, own, (missed, placements, left) => {
      const alike = rest.filter((service) => isAlike(service, missed));
      const room = new Set(placements.map(({ service }) => service));
      const without = alike.filter((service) => !room.has(service));
      misfits.push(misfitOf(missed, without.length, placements.length, left));
      rest = rest.filter((service) => !isAlike(service, missed));
    })?.placements;
  }
  misfits.sort((a, b) => a.service.id - b.service.id);
  return { placements: misfits.length === 0 && placed ? placed : null, misfits };
}

/** Why an elastic service, which nobody goes for, finds no host; undefined where it finds one. */
export function elasticMisfit(cluster: Cluster, service: Service): Misfit | undefined {
  const rooms = Array.from(cluster.hosts.values(), roomOf);
  return rooms.some((room) => fits(room, service.requirement)) ? undefined : misfitOf(service, 1, 0, rooms);
}

/** Whether two services ask for the same. */
export const isAlike = ({ requirement: a }: Service, { requirement: b }: Service): boolean =>
  a === b ||
  (a.memoryBytes === b.memoryBytes && a.cores === b.cores && a.labels.join(' ') === b.labels.join(' '));

function misfitOf(service: Service, instances: number, beside: number, rooms: readonly Room[]): Misfit {
  const { requirement } = service;
  const [unschedulable, schedulable] = split(rooms, 'schedulable', requirement);
  const [unlabelled, labelled] = split(schedulable, 'labels', requirement);
  const [small] = split(labelled, 'memory', requirement);
  const [busy] = split(labelled, 'cores', requirement);
  const failures: Failure[] = [
    { filter: 'schedulable', hosts: unschedulable.length, of: rooms.length, ...outages(unschedulable) },
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
      missing: least(small, (room) => requirement.memoryBytes - room.memoryBytes),
      largest: most(small, ({ host }) => host.memoryBytes),
    },
    {
      filter: 'cores',
      hosts: busy.length,
      of: labelled.length,
      missing: Math.round(least(busy, (room) => requirement.cores - room.cores) * MICRO) / MICRO,
      largest: most(busy, ({ host }) => host.cores),
    },
  ];
  // Where there is no host at all, that is what is told.
  const told = failures.filter(({ hosts }) => hosts > 0);
  return { service, instances, beside, failures: rooms.length > 0 ? told : failures.slice(0, 1) };
}

/** Those that fail the filter, and those that pass it. */
function split(
  rooms: readonly Room[],
  name: FilterName,
  requirement: Requirement,
): [failed: Room[], passed: Room[]] {
  const filter = filters.find((one) => one.name === name);
  const { failed = [], passed = [] } = Object.groupBy(rooms, (room) =>
    filter?.check(room, requirement) ? 'passed' : 'failed',
  );
  return [failed, passed];
}

function outages(rooms: readonly Room[]): Outages {
  const reachable = rooms.filter(({ host }) => isReachable(host));
  const paused = reachable.flatMap(({ host }) => (host.schedulable ? (pauseOf(host) ?? []) : []));
  return {
    disconnected: rooms.length - reachable.length,
    drained: reachable.length - paused.length,
    paused: Map.groupBy(paused, ({ kind }) => kind),
  };
}

function lackedLabels(labels: readonly string[], rooms: readonly Room[]): readonly string[] {
  const lacked = labels.filter((label) => !rooms.some(({ host }) => host.labels.includes(label)));
  return lacked.length > 0 ? lacked : labels;
}

const least = (rooms: readonly Room[], of: (room: Room) => number): number =>
  rooms.reduce((found, room) => Math.min(found, of(room)), Number.POSITIVE_INFINITY);
const most = (rooms: readonly Room[], of: (room: Room) => number): number =>
  rooms.reduce((found, room) => Math.max(found, of(room)), 0);
