/**
 * Limits the concurrency of a costly kind of work in this process or isolate. Further work is queued, up to a
 * limit.
 */
import { OperationError } from '../../core/model/errors.ts';

const MAX_WAITING = 512;
const MAX_WAIT_MS = 15_000;
/** Work that takes longer is written off: workerd may end a request without notice. */
const LOST_MS = 60_000;

interface Slot {
  sinceMs: number;
}

export class ConcurrencyLimit {
  readonly #maxRunning: number;
  readonly #nowMs: () => number;
  readonly #running = new Set<Slot>();
  /** In order of arrival. */
  readonly #waiting = new Set<(slot: Slot) => void>();

  constructor(maxRunning: number, nowMs: () => number) {
    this.#maxRunning = maxRunning;
    this.#nowMs = nowMs;
  }

  /** Rejects with `unavailable` if the queue is full or its wait too long. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.#writeOffLost();
    const slot = this.#running.size < this.#maxRunning ? this.#occupy() : await this.#waitForSlot();
    try {
      return await work();
    } finally {
      this.#release(slot);
    }
  }

  #occupy(): Slot {
    const slot = { sinceMs: this.#nowMs() };
    this.#running.add(slot);
    return slot;
  }

  async #waitForSlot(): Promise<Slot> {
    if (this.#waiting.size >= MAX_WAITING) throw busy();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const slot = new Promise<Slot>((resolve, reject) => {
      this.#waiting.add(resolve);
      // Without a timer of its own, a request that only waits for another request would be ended by workerd
      // as hung.
      timer = setTimeout(() => {
        if (this.#waiting.delete(resolve)) reject(busy());
      }, MAX_WAIT_MS);
    });
    return slot.finally(() => clearTimeout(timer));
  }

  /** Passes the slot on to the next in the queue. */
  #release(slot: Slot): void {
    this.#running.delete(slot);
    const [next] = this.#waiting;
    if (!next || this.#running.size >= this.#maxRunning) return;
    this.#waiting.delete(next);
    next(this.#occupy());
  }

  #writeOffLost(): void {
    for (const slot of this.#running) if (slot.sinceMs <= this.#nowMs() - LOST_MS) this.#running.delete(slot);
  }
}

const busy = () => new OperationError('unavailable', 'Too many logins at the same time; try again.');
