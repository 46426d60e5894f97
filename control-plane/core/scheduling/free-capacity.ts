/** The free capacity of a host. Pure. */
import type { Host } from '../model/host.ts';
import type { Resources } from '../model/resources.ts';

/** Free capacity: what the host has, minus all reservations on it. */
export interface FreeCapacity extends Resources {
  readonly host: Host;
}

/** Cores are fractions; sums that differ by no more than this count as equal. */
export const EPSILON = 1e-9;

export const freeCapacityOf = (host: Host): FreeCapacity => ({
  host,
  memoryBytes: host.memoryBytes - host.reservedMemoryBytes - host.backfillReservedMemoryBytes,
  cores: host.cores - host.reservedCores - host.backfillReservedCores,
});

/** The free share of a host, by the scarcer of memory and cores. */
export function freeShare({ host, memoryBytes, cores }: FreeCapacity): number {
  return Math.min(
    host.memoryBytes === 0 ? 0 : memoryBytes / host.memoryBytes,
    host.cores === 0 ? 0 : cores / host.cores,
  );
}

/** Adds resources to the free capacity, or subtracts them. */
export function adjust(free: FreeCapacity, { memoryBytes, cores }: Resources, sign: 1 | -1): void {
  free.memoryBytes += sign * memoryBytes;
  free.cores += sign * cores;
}
