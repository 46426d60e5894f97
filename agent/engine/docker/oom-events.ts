/**
 * Owns what the engine's events say of containers that ran out of memory. The event races with the end of the
 * container: the flag of an inspection is only set where it came first (README.md).
 */
import { EventEmitter, once } from 'node:events';

/** How long after a container's end the event may come: measured, up to half a second on a busy machine. */
const MAX_DELAY_MS = 1000;

export class OomEvents {
  readonly #ids = new Set<string>();
  readonly #arrivals = new EventEmitter();

  add(id: string): void {
    this.#ids.add(id);
    this.#arrivals.emit(id);
  }

  forget(id: string): void {
    this.#ids.delete(id);
  }

  /** Whether the event has come, once it has or no longer can. `sinceMs` is how long ago the container ended. */
  async arrived(id: string, sinceMs: number): Promise<boolean> {
    const waitMs = Math.min(MAX_DELAY_MS - sinceMs, MAX_DELAY_MS);
    if (!this.#ids.has(id) && waitMs > 0) {
      await once(this.#arrivals, id, { signal: AbortSignal.timeout(waitMs) }).catch(() => {});
    }
    return this.#ids.has(id);
  }
}
