/**
 * An increase of free capacity on some hosts, so that only demands that may fit now are tried again. Pure.
 */
import type { Host } from '../model/host.ts';
import type { ResourceDemand, Resources } from '../model/resources.ts';
import type { FreeCapacity } from './free-capacity.ts';
import { fits, isUsable } from './host-filters.ts';

/** With more hosts than this, each is not examined: all unschedulable demands are tried again. */
const MAX_EXAMINED_HOSTS = 100;

export class CapacityIncrease {
  readonly #hosts: readonly Host[];
  readonly #freeCapacityOf: (host: Host) => FreeCapacity;

  /** `hosts` freed capacity; `freeCapacityOf` is what each of them has now. */
  constructor(hosts: readonly Host[], freeCapacityOf: (host: Host) => FreeCapacity) {
    this.#hosts = hosts;
    this.#freeCapacityOf = freeCapacityOf;
  }

  /** An upper bound: a service that requires more memory, or more cores, cannot fit on these hosts. */
  largestIncrease(): Resources {
    if (this.#hasTooManyHosts()) return EVERYTHING;
    const largest = { memoryBytes: Number.NEGATIVE_INFINITY, cores: Number.NEGATIVE_INFINITY };
    for (const host of this.#hosts) {
      if (!isUsable(host)) continue;
      const { memoryBytes, cores } = this.#freeCapacityOf(host);
      largest.memoryBytes = Math.max(largest.memoryBytes, memoryBytes);
      largest.cores = Math.max(largest.cores, cores);
    }
    return largest;
  }

  /** Whether a part of the demand may fit on one of the hosts now. */
  mayFit(demand: ResourceDemand): boolean {
    if (this.#hasTooManyHosts()) return true;
    const { needs } = demand;
    return this.#hosts.some((host) => {
      const free = this.#freeCapacityOf(host);
      return needs.some((requirement) => fits(free, requirement));
    });
  }

  #hasTooManyHosts(): boolean {
    return this.#hosts.length > MAX_EXAMINED_HOSTS;
  }
}

const EVERYTHING: Resources = { memoryBytes: Number.POSITIVE_INFINITY, cores: Number.POSITIVE_INFINITY };
