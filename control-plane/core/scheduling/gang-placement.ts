/** Gang placement: each service of a gang gets a host, or none does. Pure; never changes a host. */
import { type Execution, essentialServices } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { Requirement } from '../model/resources.ts';
import { defaultSchedulerConfig, type SchedulerConfig } from '../model/scheduler-config.ts';
import type { Service } from '../model/service.ts';
import { HostIndex } from './host-index.ts';
import { compareRequirements, requirementKey } from './resource-demand.ts';

/** A service as far as its placement is concerned. An execution that waits has no more of it in memory. */
export interface GangMember {
  readonly id: number;
  readonly requirement: Requirement;
}

export interface Placement<T extends GangMember = GangMember> {
  service: T;
  host: Host;
}

/** Places all of `services`, or returns null. The host index is left as it was. */
export function placeGang<T extends GangMember>(
  services: readonly T[],
  hostIndex: HostIndex,
): Placement<T>[] | null {
  const placements: Placement<T>[] = [];
  for (const service of largestFirst(services)) {
    const host = hostIndex.selectHost(service);
    if (!host) break;
    hostIndex.assume(host, service.requirement, -1);
    placements.push({ service, host });
  }
  for (const { host } of placements) hostIndex.forgetAssumed(host);
  return placements.length === services.length ? placements : null;
}

/**
 * The gang of an execution, the hardest to fit first. Its members are the same whether the services are in
 * memory or not, and have ids of their own: `seat` gives the services their hosts.
 */
export function gangOf({
  firstServiceId,
  demand,
}: Pick<Execution, 'firstServiceId' | 'demand'>): GangMember[] {
  const members: GangMember[] = [];
  for (const requirement of demand.needs)
    for (let at = 0; at < requirement.count; at++)
      members.push({ id: firstServiceId + members.length, requirement });
  return members;
}

/** The essential services in the order of the members of `gangOf`. */
export function gangServicesOf(execution: Execution): Service[] {
  const essential = essentialServices(execution);
  const { needs } = execution.demand;
  if (needs.length < 2) return essential;
  const position = new Map(needs.map((need, at) => [requirementKey(need), at]));
  const positionOf = new Map<Requirement, number>();
  // Earlier releases stored demands without secret files.
  const positionIn = (requirement: Requirement) =>
    position.get(requirementKey(requirement)) ??
    position.get(requirementKey({ ...requirement, secretFiles: false })) ??
    0;
  for (const { requirement } of essential)
    if (!positionOf.has(requirement)) positionOf.set(requirement, positionIn(requirement));
  return essential.sort(
    (a, b) => (positionOf.get(a.requirement) ?? 0) - (positionOf.get(b.requirement) ?? 0) || a.id - b.id,
  );
}

/** The placements of the members as placements of the services, which must be in memory. */
export function seat(execution: Execution, placements: readonly Placement[]): Placement<Service>[] {
  const services = gangServicesOf(execution);
  if (services.length !== placements.length)
    throw new Error(`execution ${execution.id} has ${services.length} essential services in memory`);
  return placements.map(({ host }, at) => ({ service: services[at] as Service, host }));
}

/** Services that are hardest to fit choose first. */
export const largestFirst = <T extends GangMember>(services: readonly T[]): T[] =>
  services.toSorted((a, b) => compareRequirements(b.requirement, a.requirement) || a.id - b.id);

export function hostIndexOf(
  hosts: Iterable<Host>,
  config: SchedulerConfig = defaultSchedulerConfig,
): HostIndex {
  const hostIndex = new HostIndex(config);
  for (const host of hosts) hostIndex.update(host);
  return hostIndex;
}
