/**
 * Owns what the engine's events say of containers that ran out of memory. The event races with the end of the
 * container: the flag of an inspection is only set where it came first (README.md).
 */
import { EventEmitter, once } from 'node:events';

/** How long after a container's end the event may come: measured, up to half a second on a busy machine. */
const LATEST_MS = 1000;

export class OomEvents {
  readonly #seen = new Set<string>();
  readonly #arrivals = new EventEmitter();

  saw(id: string): void {
    this.#seen.add(id);
    this.#arrivals.emit(id);
  }

  forget(id: string): void {
    this.#seen.delete(id);
  }

  /** Whether the event has come, once it has or no longer can. `sinceMs` is how long ago the container ended. */
  async told(id: string, sinceMs: number): Promise<boolean> {
    const waitMs = Math.min(LATEST_MS - sinceMs, LATEST_MS);
    if (!this.#seen.has(id) && waitMs > 0) {
      await once(this.#arrivals, id, { signal: AbortSignal.timeout(waitMs) }).catch(() => {});
    }
    return this.#seen.has(id);
  }
}
