/**
 * Preemption: chooses the elastic services whose capacity goes to essential services that fit nowhere else,
 * or whose user's quota is used up (SCHED-4). It takes as few as possible, of equals the youngest, and none
 * unless the whole gang then fits. Pure; never changes a host.
 */

import { addUsage } from '../accounts/quota.ts';
import type { Execution } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import { memoryLimitOf, type Requirement, type ResourceDemand, type Resources } from '../model/resources.ts';
import type { Service } from '../model/service.ts';
import { adjust, EPSILON, type FreeCapacity } from './free-capacity.ts';
import { type GangMember, gangOf, largestFirst, type Placement, seat } from './gang-placement.ts';
import { isUsable } from './host-filters.ts';
import type { SchedulerState, SchedulingActions } from './scheduler-state.ts';

export interface PreemptionPlan<T extends GangMember = GangMember> {
  placements: Placement<T>[];
  victims: Service[];
}

/** Preempts the victims, then places the execution, which must be in memory. */
export function applyPlan(
  actions: SchedulingActions,
  execution: Execution,
  { placements, victims }: PreemptionPlan,
): void {
  for (const service of victims) actions.preempt(service);
  actions.place(execution, seat(execution, placements));
}

/**
 * Called with a service that fits nowhere, the placements made before it, and the free capacity of each host
 * without its elastic services.
 */
export type OnUnplaceable<T extends GangMember> = (
  service: T,
  placements: readonly Placement<T>[],
  capacities: FreeCapacity[],
) => void;

/**
 * Places all essential services of an execution with preemption, or returns null. Only for executions that do
 * not fit in free capacity.
 */
export function placeWithPreemption(
  state: SchedulerState,
  execution: Execution,
  demand: ResourceDemand,
): PreemptionPlan | null {
  if (state.elasticCount === 0) return null;
  const own = victimsForQuota(state, execution, demand);
  return own && placeWithVictims(state, gangOf(execution), own);
}

/**
 * Places all of `services`, or returns null; `own` are victims in any case. Calls `onUnplaceable` with the
 * first service that fits nowhere.
 */
export function placeWithVictims<T extends GangMember>(
  state: SchedulerState,
  services: readonly T[],
  own: readonly Service[],
  onUnplaceable?: OnUnplaceable<T>,
): PreemptionPlan<T> | null {
  const { hostIndex } = state;
  const victims = new Set<Service>();
  const touched = new Set<Host>();
  const assume = (host: Host, requirement: Requirement, sign: 1 | -1) => {
    hostIndex.assume(host, requirement, sign);
    touched.add(host);
  };
  const preempt = (service: Service) => {
    const host = state.hosts.get(service.hostId ?? 0);
    if (!host) throw new Error(`service ${service.id} has no host`);
    assume(host, service.requirement, 1);
    victims.add(service);
  };
  for (const service of own) preempt(service);
  const placements: Placement<T>[] = [];
  for (const service of largestFirst(services)) {
    let host = hostIndex.selectHost(service);
    if (!host) {
      const choice = selectHostAndVictims(state, service.requirement, victims);
      for (const victim of choice?.victims ?? []) preempt(victim);
      host = choice?.host;
    }
    if (!host) {
      onUnplaceable?.(service, placements, freeWithoutElastic(state, victims));
      break;
    }
    assume(host, service.requirement, -1);
    placements.push({ service, host });
  }
  for (const host of touched) hostIndex.forgetAssumed(host);
  return placements.length === services.length ? { placements, victims: [...victims] } : null;
}

/** Places a gang at its reserved placements by preempting services there, or returns null. */
export function preemptAt(state: SchedulerState, placements: readonly Placement[]): PreemptionPlan | null {
  const victims: Service[] = [];
  for (const host of new Set(placements.map((placement) => placement.host))) {
    const free = {
      memoryBytes: host.memoryBytes - host.reservedMemoryBytes,
      cores: host.cores - host.reservedCores,
    };
    const reserved = { memoryBytes: host.backfillReservedMemoryBytes, cores: host.backfillReservedCores };
    const services = [...state.servicesAt(host.id)].filter((service) => isPreemptible(state, service));
    const chosen = isUsable(host) ? selectVictims(free, reserved, services) : null;
    if (!chosen) return null;
    victims.push(...chosen);
  }
  return { placements: [...placements], victims };
}

/**
 * The free capacity of each host without its elastic services; those in `gone` are already counted as free.
 */
function freeWithoutElastic(state: SchedulerState, gone: ReadonlySet<Service>): FreeCapacity[] {
  return Array.from(state.hosts.values(), (host) => {
    const capacity = { ...state.hostIndex.freeCapacityOf(host) };
    for (const service of state.servicesAt(host.id)) {
      if (!gone.has(service) && isPreemptible(state, service)) adjust(capacity, service.requirement, 1);
    }
    return capacity;
  });
}

/** The user's own elastic services that must be preempted for the quota; null if that would not suffice. */
export function victimsForQuota(
  state: SchedulerState,
  { userId }: Execution,
  demand: ResourceDemand,
): Service[] | null {
  const exceeded = state.exceededBy(userId, demand);
  if (exceeded.length === 0) return [];
  const shortfall: Resources = { memoryBytes: 0, cores: 0 };
  for (const limit of exceeded) {
    if (limit.dimension === 'executions' || limit.dimension === 'instances') return null;
    if (limit.dimension === 'memory') shortfall.memoryBytes = limit.over;
    else shortfall.cores = limit.over;
  }
  const services = [...state.elasticOf(userId)].filter((service) => isPreemptible(state, service));
  const { defaultMemoryBytes } = state.schedulerConfig;
  const countedOf = ({ requirement }: Service): Resources => ({
    memoryBytes: memoryLimitOf(requirement, defaultMemoryBytes),
    cores: requirement.cores,
  });
  const chosen = selectVictims({ memoryBytes: 0, cores: 0 }, shortfall, services, countedOf);
  const wanted = demand.usage(defaultMemoryBytes);
  for (const { requirement } of chosen ?? []) addUsage(wanted, requirement, defaultMemoryBytes, -1);
  return state.exceededLimits(userId, wanted).length === 0 ? chosen : null;
}

/** After this many hosts the search stops, if it has found one. */
const MAX_COMPARED_HOSTS = 100;

/**
 * The host on which the fewest services must be preempted, of equals the youngest. `chosen` are victims
 * already.
 */
function selectHostAndVictims(state: SchedulerState, requirement: Requirement, chosen: ReadonlySet<Service>) {
  let best: { host: Host; victims: Service[]; oldest: number } | undefined;
  for (const [at, capacity] of state.hostIndex.preemptibleHosts(requirement).entries()) {
    if (best && at >= MAX_COMPARED_HOSTS) break;
    const services = [...state.servicesAt(capacity.host.id)].filter(
      (service) => !chosen.has(service) && isPreemptible(state, service),
    );
    const victims = selectVictims(capacity, requirement, services);
    if (!victims) continue;
    const oldest = Math.min(...victims.map(({ id }) => id));
    const fewer = victims.length - (best?.victims.length ?? Number.POSITIVE_INFINITY);
    if (!best || fewer < 0 || (fewer === 0 && oldest > best.oldest))
      best = { host: capacity.host, victims, oldest };
  }
  return best;
}

/** False for a service that has ended or is ending: it releases its capacity anyway. */
const isPreemptible = (state: SchedulerState, service: Service): boolean =>
  service.placed &&
  !service.essential &&
  !service.exit &&
  !service.failure &&
  service.status !== 'terminating' &&
  state.executions.get(service.executionId)?.ending === null;

/**
 * The fewest of `services` whose resources, added to `free`, make up `wanted`, of equals the youngest; null
 * if even all of them do not suffice. `releasedBy` is what the end of a service adds, by default on its host.
 */
function selectVictims(
  free: Resources,
  wanted: Resources,
  services: readonly Service[],
  releasedBy = ({ requirement }: Service): Resources => requirement,
): Service[] | null {
  let shortfall = { memoryBytes: wanted.memoryBytes - free.memoryBytes, cores: wanted.cores - free.cores };
  const rest = services.toSorted((a, b) => b.id - a.id);
  const chosen: Service[] = [];
  while (shortfallScore(shortfall, wanted) > 0) {
    let next = rest[0];
    let lowest = shortfallScore(shortfall, wanted);
    for (const service of rest) {
      const weight = shortfallScore(without(shortfall, releasedBy(service)), wanted);
      if (weight < lowest) [next, lowest] = [service, weight];
    }
    if (!next || lowest === shortfallScore(shortfall, wanted)) return null;
    shortfall = without(shortfall, releasedBy(next));
    chosen.push(next);
    rest.splice(rest.indexOf(next), 1);
  }
  return chosen;
}

const without = (shortfall: Resources, released: Resources): Resources => ({
  memoryBytes: shortfall.memoryBytes - released.memoryBytes,
  cores: shortfall.cores - released.cores,
});

/** How much is short, as shares of `wanted`; 0 if nothing is. */
function shortfallScore({ memoryBytes, cores }: Resources, wanted: Resources): number {
  const share = (amount: number, whole: number, ignored: number) =>
    amount <= ignored ? 0 : amount / Math.max(whole, ignored);
  return share(memoryBytes, wanted.memoryBytes, 0) + share(cores, wanted.cores, EPSILON);
}
