/**
 * Records the engine's out-of-memory events. The event races with the end of the container, and the flag in
 * an inspection is set only if the event came first (CONT-18).
 */
import { EventEmitter, once } from 'node:events';

/** Maximum delay of the event after the container's end. Measured: up to half a second on a busy machine. */
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

  /**
   * Whether the event has arrived. Waits until it arrives or no longer can. `sinceMs` is the time since the
   * container's end.
   */
  async arrived(id: string, sinceMs: number): Promise<boolean> {
    const waitMs = Math.min(MAX_DELAY_MS - sinceMs, MAX_DELAY_MS);
    if (!this.#ids.has(id) && waitMs > 0) {
      await once(this.#arrivals, id, { signal: AbortSignal.timeout(waitMs) }).catch(() => {});
    }
    return this.#ids.has(id);
  }
}
