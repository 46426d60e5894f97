/** The free capacity of a host. Pure. */
import type { Host } from '../model/host.ts';
import type { Resources } from '../model/resources.ts';

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
