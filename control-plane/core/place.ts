/** Owns placement: which hosts a service may run on, and which of them it gets. Pure; never changes a host. */
import type { Host } from './host.ts';
import type { Requirement, Service } from './service.ts';

/** What is left of a host while a gang is being placed. */
interface Room {
  host: Host;
  memoryBytes: number;
  cores: number;
}

interface Filter {
  name: string;
  check: (room: Room, requirement: Requirement) => boolean;
}

/** Cores are fractions; this much over counts as equal. */
const EPSILON = 1e-9;

export const filters: readonly Filter[] = [
  { name: 'schedulable', check: ({ host }) => host.connected && host.schedulable && !host.lost },
  { name: 'labels', check: ({ host }, { labels }) => labels.every((label) => host.labels.includes(label)) },
  { name: 'memory', check: (room, { memoryBytes }) => room.memoryBytes >= memoryBytes },
  { name: 'cores', check: (room, { cores }) => room.cores + EPSILON >= cores },
];

/** Orders candidates; the smallest wins. `average` spreads: the host with most of itself left comes first. */
type PlacementPolicy = (room: Room) => number;
const average: PlacementPolicy = ({ host, memoryBytes, cores }) =>
  -Math.min(
    host.memoryBytes === 0 ? 0 : memoryBytes / host.memoryBytes,
    host.cores === 0 ? 0 : cores / host.cores,
  );

export interface Placement {
  service: Service;
  host: Host;
}

/** Places all of `services` or none: a gang. Null when any of them fits nowhere. */
export function placeAll(services: readonly Service[], hosts: Iterable<Host>): Placement[] | null {
  const rooms = Array.from(hosts, roomOf);
  const placements: Placement[] = [];
  // The largest first: what is hardest to fit gets the most choice.
  const order = services.toSorted((a, b) => compareRequirements(b.requirement, a.requirement) || a.id - b.id);
  for (const service of order) {
    const room = best(rooms, service.requirement);
    if (!room) return null;
    room.memoryBytes -= service.requirement.memoryBytes;
    room.cores -= service.requirement.cores;
    placements.push({ service, host: room.host });
  }
  return placements;
}

const roomOf = (host: Host): Room => ({
  host,
  memoryBytes: host.memoryBytes - host.reservedMemoryBytes,
  cores: host.cores - host.reservedCores,
});

const compareRequirements = (a: Requirement, b: Requirement) =>
  a.memoryBytes - b.memoryBytes || a.cores - b.cores;

function best(rooms: readonly Room[], requirement: Requirement): Room | undefined {
  let found: Room | undefined;
  let lowest = Number.POSITIVE_INFINITY;
  for (const room of rooms) {
    if (!filters.every((filter) => filter.check(room, requirement))) continue;
    const score = average(room);
    if (score < lowest) {
      lowest = score;
      found = room;
    }
  }
  return found;
}
