/** Owns what is left of a host, and whether a service fits there: each filter says so by itself. Pure. */
import { blockingConditionOf, type Host, isReachable } from '../model/host.ts';
import type { Requirement, Resources } from '../model/resources.ts';

/** What is left of a host: of its own, less what is reserved there or kept for another. */
export interface FreeCapacity extends Resources {
  readonly host: Host;
}

/** Cores are fractions; this much over counts as equal. */
export const EPSILON = 1e-9;

export const freeCapacityOf = (host: Host): FreeCapacity => ({
  host,
  memoryBytes: host.memoryBytes - host.reservedMemoryBytes - host.backfillReservedMemoryBytes,
  cores: host.cores - host.reservedCores - host.backfillReservedCores,
});

export type FilterName = 'schedulable' | 'labels' | 'memory' | 'cores';

interface Filter {
  name: FilterName;
  check: (free: FreeCapacity, requirement: Requirement) => boolean;
}

export const filters: readonly Filter[] = [
  { name: 'schedulable', check: ({ host }) => isUsable(host) },
  { name: 'labels', check: ({ host }, { labels }) => hasLabels(host, labels) },
  { name: 'memory', check: (free, { memoryBytes }) => free.memoryBytes >= memoryBytes },
  { name: 'cores', check: (free, { cores }) => free.cores + EPSILON >= cores },
];

export const fits = (free: FreeCapacity, requirement: Requirement): boolean =>
  filters.every(({ check }) => check(free, requirement));

export const isUsable = (host: Host): boolean =>
  isReachable(host) && host.schedulable && !blockingConditionOf(host);

export const hasLabels = (host: Pick<Host, 'labels'>, labels: readonly string[]): boolean =>
  labels.every((label) => host.labels.includes(label));

/** The share of itself that a host has left, by the scarcer of memory and cores. */
export function freeShare({ host, memoryBytes, cores }: FreeCapacity): number {
  return Math.min(
    host.memoryBytes === 0 ? 0 : memoryBytes / host.memoryBytes,
    host.cores === 0 ? 0 : cores / host.cores,
  );
}

/** Adds a need to what is left, or takes it away. */
export function adjust(free: FreeCapacity, { memoryBytes, cores }: Resources, sign: 1 | -1): void {
  free.memoryBytes += sign * memoryBytes;
  free.cores += sign * cores;
}
