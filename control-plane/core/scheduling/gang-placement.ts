/** Owns the placement of a gang: all of its services get a host, or none does. Pure; never changes a host. */
import type { Host } from '../model/host.ts';
import { defaultScheduling, type SchedulingPolicy } from '../model/scheduler-config.ts';
import type { Requirement, Service } from '../model/service.ts';
import { Rooms } from './host-index.ts';

export interface Placement {
  service: Service;
  host: Host;
}

/** Places all of `services` or none. Null when any of them fits nowhere. The rooms are as before. */
export function placeAll(services: readonly Service[], rooms: Rooms): Placement[] | null {
  const placements: Placement[] = [];
  for (const service of largestFirst(services)) {
    const host = rooms.find(service);
    if (!host) break;
    rooms.suppose(host, service.requirement, -1);
    placements.push({ service, host });
  }
  for (const { host } of placements) rooms.restore(host);
  return placements.length === services.length ? placements : null;
}

/** What is hardest to fit gets the most choice. */
export const largestFirst = (services: readonly Service[]): Service[] =>
  services.toSorted((a, b) => compareRequirements(b.requirement, a.requirement) || a.id - b.id);

export function roomsOf(hosts: Iterable<Host>, scheduling: SchedulingPolicy = defaultScheduling): Rooms {
  const rooms = new Rooms(scheduling);
  for (const host of hosts) rooms.update(host);
  return rooms;
}

const compareRequirements = (a: Requirement, b: Requirement) =>
  a.memoryBytes - b.memoryBytes || a.cores - b.cores;
