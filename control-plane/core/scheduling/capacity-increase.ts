/** Owns what came to have more room, so that only what may fit now is tried again. Pure. */
import type { Host } from '../model/host.ts';
import { fits, isUsable, type Room } from './free-capacity.ts';
import type { Needs } from './resource-demand.ts';
import type { Amount } from './user-queue.ts';

/** Of more hosts than these each is not looked at: whatever fitted nowhere is tried again. */
const MANY_HOSTS = 100;

export class Growth {
  readonly #hosts: readonly Host[];
  readonly #left: (host: Host) => Room;

  /** Hosts that grew; `left` is what they have now. */
  constructor(hosts: readonly Host[], left: (host: Host) => Room) {
    this.#hosts = hosts;
    this.#left = left;
  }

  /** No service that needs more of either may fit. */
  most(): Amount {
    if (this.#isMany()) return EVERYTHING;
    const most = { memoryBytes: Number.NEGATIVE_INFINITY, cores: Number.NEGATIVE_INFINITY };
    for (const host of this.#hosts) {
      if (!isUsable(host)) continue;
      const { memoryBytes, cores } = this.#left(host);
      most.memoryBytes = Math.max(most.memoryBytes, memoryBytes);
      most.cores = Math.max(most.cores, cores);
    }
    return most;
  }

  /** Whether a part of the needs may fit now on one of the hosts. */
  mayFit({ requirements }: Needs): boolean {
    if (this.#isMany()) return true;
    return this.#hosts.some((host) => {
      const room = this.#left(host);
      return requirements.some((requirement) => fits(room, requirement));
    });
  }

  #isMany(): boolean {
    return this.#hosts.length > MANY_HOSTS;
  }
}

const EVERYTHING: Amount = { memoryBytes: Number.POSITIVE_INFINITY, cores: Number.POSITIVE_INFINITY };
