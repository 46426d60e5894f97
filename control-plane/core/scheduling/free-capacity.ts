/** Owns what is left of a host, and whether a service fits there: each filter says so by itself. Pure. */
import { type Host, isReachable, pauseOf } from '../model/host.ts';
import type { Requirement } from '../model/service.ts';

/** What is left of a host: of its own, less what is reserved there or kept for another. */
export interface Room {
  readonly host: Host;
  memoryBytes: number;
  cores: number;
}

/** Cores are fractions; this much over counts as equal. */
export const EPSILON = 1e-9;

export const roomOf = (host: Host): Room => ({
  host,
  memoryBytes: host.memoryBytes - host.reservedMemoryBytes - host.keptMemoryBytes,
  cores: host.cores - host.reservedCores - host.keptCores,
});

export type FilterName = 'schedulable' | 'labels' | 'memory' | 'cores';

interface Filter {
  name: FilterName;
  check: (room: Room, requirement: Requirement) => boolean;
}

export const filters: readonly Filter[] = [
  { name: 'schedulable', check: ({ host }) => isUsable(host) },
  { name: 'labels', check: ({ host }, { labels }) => hasLabels(host, labels) },
  { name: 'memory', check: (room, { memoryBytes }) => room.memoryBytes >= memoryBytes },
  { name: 'cores', check: (room, { cores }) => room.cores + EPSILON >= cores },
];

export const fits = (room: Room, requirement: Requirement): boolean =>
  filters.every(({ check }) => check(room, requirement));

export const isUsable = (host: Host): boolean => isReachable(host) && host.schedulable && !pauseOf(host);

export const hasLabels = (host: Pick<Host, 'labels'>, labels: readonly string[]): boolean =>
  labels.every((label) => host.labels.includes(label));

/** The share of itself that a host has left, by the scarcer of memory and cores. */
export function shareLeft({ host, memoryBytes, cores }: Room): number {
  return Math.min(
    host.memoryBytes === 0 ? 0 : memoryBytes / host.memoryBytes,
    host.cores === 0 ? 0 : cores / host.cores,
  );
}

/** Adds a need to what is left, or takes it away. */
export function changeRoom(room: Room, { memoryBytes, cores }: Requirement, sign: 1 | -1): void {
  room.memoryBytes += sign * memoryBytes;
  room.cores += sign * cores;
}
