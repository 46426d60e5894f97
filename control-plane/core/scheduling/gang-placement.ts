/** Gang placement: each service of a gang gets a host, or none does. Pure; never changes a host. */
import type { Host } from '../model/host.ts';
import type { Requirement } from '../model/resources.ts';
import { defaultSchedulerConfig, type SchedulerConfig } from '../model/scheduler-config.ts';
import type { Service } from '../model/service.ts';
import { HostIndex } from './host-index.ts';

export interface Placement {
  service: Service;
  host: Host;
}

/** Places all of `services`, or returns null. The host index is left as it was. */
export function placeGang(services: readonly Service[], hostIndex: HostIndex): Placement[] | null {
  const placements: Placement[] = [];
  for (const service of largestFirst(services)) {
    const host = hostIndex.selectHost(service);
    if (!host) break;
    hostIndex.assume(host, service.requirement, -1);
    placements.push({ service, host });
  }
  for (const { host } of placements) hostIndex.forgetAssumed(host);
  return placements.length === services.length ? placements : null;
}

/** Services that are hardest to fit choose first. */
export const largestFirst = (services: readonly Service[]): Service[] =>
  services.toSorted((a, b) => compareRequirements(b.requirement, a.requirement) || a.id - b.id);

export function hostIndexOf(
  hosts: Iterable<Host>,
  config: SchedulerConfig = defaultSchedulerConfig,
): HostIndex {
  const hostIndex = new HostIndex(config);
  for (const host of hosts) hostIndex.update(host);
  return hostIndex;
}

const compareRequirements = (a: Requirement, b: Requirement) =>
  a.memoryBytes - b.memoryBytes || a.cores - b.cores;
