/**
 * Owns which elastic services give their room to essential ones that fit nowhere else, or to which their user's quota
 * leaves none: the fewest, of equals the youngest, and none unless the whole gang fits then. Pure; never changes a host.
 */

import { addUsage } from '../accounts/quota.ts';
import { type Execution, essentialServices } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { Requirement, Resources } from '../model/resources.ts';
import type { Service } from '../model/service.ts';
import { adjust, EPSILON, type FreeCapacity } from './free-capacity.ts';
import { largestFirst, type Placement } from './gang-placement.ts';
import { isUsable } from './host-filters.ts';
import type { ResourceDemand } from './resource-demand.ts';
import type { SchedulerState, SchedulingActions } from './scheduler-state.ts';

export interface PreemptionPlan {
  placements: Placement[];
  victims: Service[];
}

/** Preempts the victims, then places the execution where they were. */
export function startWithPreemption(
  actions: SchedulingActions,
  execution: Execution,
  { placements, victims }: PreemptionPlan,
): void {
  for (const service of victims) actions.preempt(service);
  actions.place(execution, placements);
}

/** A service that fits nowhere, after others were placed; `left` is what each host has when its elastic services go, too. */
export type OnUnplaceable = (
  service: Service,
  placements: readonly Placement[],
  left: FreeCapacity[],
) => void;

/** Places all essential services of an execution, which do not fit without, with what elastic ones give back, or none: then null. */
export function placeWithPreemption(
  state: SchedulerState,
  execution: Execution,
  demand: ResourceDemand,
): PreemptionPlan | null {
  if (state.elasticCount === 0) return null;
  const own = victimsForQuota(state, execution, demand);
  const essential = essentialServices(execution);
  return own && placeWithVictims(state, essential, own);
}

/** Places all of `services`, where `own` go in any case, or none: then null, and `missed` is told of the first that fits nowhere. */
export function placeWithVictims(
  state: SchedulerState,
  services: readonly Service[],
  own: readonly Service[],
  missed?: OnUnplaceable,
): PreemptionPlan | null {
  const { hostIndex } = state;
  const victims = new Set<Service>();
  const touched = new Set<Host>();
  const assume = (host: Host, requirement: Requirement, sign: 1 | -1) => {
    hostIndex.assume(host, requirement, sign);
    touched.add(host);
  };
  const take = (service: Service) => {
    const host = state.hosts.get(service.hostId ?? 0);
    if (!host) throw new Error(`service ${service.id} has no host`);
    assume(host, service.requirement, 1);
    victims.add(service);
  };
  for (const service of own) take(service);
  const placements: Placement[] = [];
  for (const service of largestFirst(services)) {
    let host = hostIndex.selectHost(service);
    if (!host) {
      const choice = selectHostAndVictims(state, service.requirement, victims);
      for (const victim of choice?.victims ?? []) take(victim);
      host = choice?.host;
    }
    if (!host) {
      missed?.(service, placements, freeWithoutElastic(state, victims));
      break;
    }
    assume(host, service.requirement, -1);
    placements.push({ service, host });
  }
  for (const host of touched) hostIndex.forgetAssumed(host);
  return placements.length === services.length ? { placements, victims: [...victims] } : null;
}

/** Takes the room at these places, those of one gang for which it is kept, or nothing: then null. */
export function preemptAt(state: SchedulerState, placements: readonly Placement[]): PreemptionPlan | null {
  const victims: Service[] = [];
  for (const host of new Set(placements.map((placement) => placement.host))) {
    const left = {
      memoryBytes: host.memoryBytes - host.reservedMemoryBytes,
      cores: host.cores - host.reservedCores,
    };
    const reserved = { memoryBytes: host.backfillReservedMemoryBytes, cores: host.backfillReservedCores };
    const services = [...state.servicesAt(host.id)].filter((service) => isPreemptible(state, service));
    const chosen = isUsable(host) ? selectVictims(left, reserved, services) : null;
    if (!chosen) return null;
    victims.push(...chosen);
  }
  return { placements: [...placements], victims };
}

/** What each host has left where all elastic services go, of which these have gone. */
function freeWithoutElastic(state: SchedulerState, gone: ReadonlySet<Service>): FreeCapacity[] {
  return Array.from(state.hosts.values(), (host) => {
    const capacity = { ...state.hostIndex.freeCapacityOf(host) };
    for (const service of state.servicesAt(host.id)) {
      if (!gone.has(service) && isPreemptible(state, service)) adjust(capacity, service.requirement, 1);
    }
    return capacity;
  });
}

/** Elastic services of the execution's own user that must go for its quota; null where that would not be enough. */
export function victimsForQuota(
  state: SchedulerState,
  { userId }: Execution,
  { usage }: ResourceDemand,
): Service[] | null {
  const over = state.exceededLimits(userId, usage);
  if (over.length === 0) return [];
  const shortfall: Resources = { memoryBytes: 0, cores: 0 };
  for (const excess of over) {
    if (excess.dimension === 'executions') return null;
    if (excess.dimension === 'memory') shortfall.memoryBytes = excess.over;
    else shortfall.cores = excess.over;
  }
  const services = [...state.elasticOf(userId)].filter((service) => isPreemptible(state, service));
  const chosen = selectVictims({ memoryBytes: 0, cores: 0 }, shortfall, services);
  const wanted = { ...usage };
  for (const { requirement } of chosen ?? []) addUsage(wanted, requirement, -1);
  return state.exceededLimits(userId, wanted).length === 0 ? chosen : null;
}

/** Of more hosts than these, once one has been found, no more are looked at. */
const ENOUGH_HOSTS = 100;

/** The host where the fewest must go, of equals the youngest. */
function selectHostAndVictims(state: SchedulerState, requirement: Requirement, taken: ReadonlySet<Service>) {
  let best: { host: Host; victims: Service[]; oldest: number } | undefined;
  for (const [at, capacity] of state.hostIndex.preemptableHosts(requirement).entries()) {
    if (best && at >= ENOUGH_HOSTS) break;
    const services = [...state.servicesAt(capacity.host.id)].filter(
      (service) => !taken.has(service) && isPreemptible(state, service),
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

/** One that has ended or is about to gives its room back anyway. */
const isPreemptible = (state: SchedulerState, service: Service): boolean =>
  service.placed &&
  !service.essential &&
  !service.exit &&
  !service.failure &&
  service.status !== 'terminating' &&
  state.executions.get(service.executionId)?.ending === null;

/** Of `services` the fewest that give `wanted` room beside what is left, of equals the youngest; null where all do not. */
function selectVictims(left: Resources, wanted: Resources, services: readonly Service[]): Service[] | null {
  let shortfall = { memoryBytes: wanted.memoryBytes - left.memoryBytes, cores: wanted.cores - left.cores };
  const rest = services.toSorted((a, b) => b.id - a.id);
  const chosen: Service[] = [];
  while (shortfallScore(shortfall, wanted) > 0) {
    let next = rest[0];
    let lowest = shortfallScore(shortfall, wanted);
    for (const service of rest) {
      const weight = shortfallScore(without(shortfall, service), wanted);
      if (weight < lowest) [next, lowest] = [service, weight];
    }
    if (!next || lowest === shortfallScore(shortfall, wanted)) return null;
    shortfall = without(shortfall, next);
    chosen.push(next);
    rest.splice(rest.indexOf(next), 1);
  }
  return chosen;
}

const without = (shortfall: Resources, { requirement }: Service): Resources => ({
  memoryBytes: shortfall.memoryBytes - requirement.memoryBytes,
  cores: shortfall.cores - requirement.cores,
});

/** How much is lacking, as shares of what is wanted; 0 where nothing is. */
function shortfallScore({ memoryBytes, cores }: Resources, wanted: Resources): number {
  const share = (amount: number, whole: number, ignored: number) =>
    amount <= ignored ? 0 : amount / Math.max(whole, ignored);
  return share(memoryBytes, wanted.memoryBytes, 0) + share(cores, wanted.cores, EPSILON);
}
