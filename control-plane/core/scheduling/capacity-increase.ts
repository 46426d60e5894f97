/** Owns what came to have more room, so that only what may fit now is tried again. Pure. */
import type { Host } from '../model/host.ts';
import type { Resources } from '../model/resources.ts';
import type { FreeCapacity } from './free-capacity.ts';
import { fits, isUsable } from './host-filters.ts';
import type { ResourceDemand } from './resource-demand.ts';

/** Of more hosts than these each is not looked at: whatever fitted nowhere is tried again. */
const MANY_HOSTS = 100;

export class CapacityIncrease {
  readonly #hosts: readonly Host[];
  readonly #freeCapacityOf: (host: Host) => FreeCapacity;

  /** Hosts that grew; `left` is what they have now. */
  constructor(hosts: readonly Host[], freeCapacityOf: (host: Host) => FreeCapacity) {
    this.#hosts = hosts;
    this.#freeCapacityOf = freeCapacityOf;
  }

  /** No service that needs more of either may fit. */
  largestIncrease(): Resources {
    if (this.#isMany()) return EVERYTHING;
    const largest = { memoryBytes: Number.NEGATIVE_INFINITY, cores: Number.NEGATIVE_INFINITY };
    for (const host of this.#hosts) {
      if (!isUsable(host)) continue;
      const { memoryBytes, cores } = this.#freeCapacityOf(host);
      largest.memoryBytes = Math.max(largest.memoryBytes, memoryBytes);
      largest.cores = Math.max(largest.cores, cores);
    }
    return largest;
  }

  /** Whether a part of the needs may fit now on one of the hosts. */
  mayFit({ requirements }: ResourceDemand): boolean {
    if (this.#isMany()) return true;
    return this.#hosts.some((host) => {
      const free = this.#freeCapacityOf(host);
      return requirements.some((requirement) => fits(free, requirement));
    });
  }

  #isMany(): boolean {
    return this.#hosts.length > MANY_HOSTS;
  }
}

const EVERYTHING: Resources = { memoryBytes: Number.POSITIVE_INFINITY, cores: Number.POSITIVE_INFINITY };
