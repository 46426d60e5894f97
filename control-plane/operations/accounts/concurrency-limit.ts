/**
 * Limits the concurrency of a costly kind of work in this process or isolate. Further work is queued, up to a
 * limit.
 */
import { OperationError } from '../../core/model/errors.ts';

const MAX_WAITING = 512;
const WAIT_MS = 15_000;
/** Work that takes longer is written off: workerd may end a request without notice. */
const LOST_MS = 60_000;

interface Slot {
  sinceMs: number;
}

export class ConcurrencyLimit {
  readonly #most: number;
  readonly #nowMs: () => number;
  readonly #inside = new Set<Slot>();
  /** In order of arrival. */
  readonly #waiting = new Set<(place: Slot) => void>();

  constructor(most: number, nowMs: () => number) {
    this.#most = most;
    this.#nowMs = nowMs;
  }

  /** Rejects with `unavailable` if the queue is full or its wait too long. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.#forgetLost();
    const place = this.#inside.size < this.#most ? this.#take() : await this.#turn();
    try {
      return await work();
    } finally {
      this.#leave(place);
    }
  }

  #take(): Slot {
    const place = { sinceMs: this.#nowMs() };
    this.#inside.add(place);
    return place;
  }

  async #turn(): Promise<Slot> {
    if (this.#waiting.size >= MAX_WAITING) throw busy();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const turn = new Promise<Slot>((enter, refuse) => {
      this.#waiting.add(enter);
      // Without a timer of its own, a request that only waits for another request would be ended by workerd
      // as hung.
      timer = setTimeout(() => {
        if (this.#waiting.delete(enter)) refuse(busy());
      }, WAIT_MS);
    });
    return turn.finally(() => clearTimeout(timer));
  }

  /** Passes the slot on to the next in the queue. */
  #leave(place: Slot): void {
    this.#inside.delete(place);
    const [next] = this.#waiting;
    if (!next || this.#inside.size >= this.#most) return;
    this.#waiting.delete(next);
    next(this.#take());
  }

  #forgetLost(): void {
    for (const place of this.#inside)
      if (place.sinceMs <= this.#nowMs() - LOST_MS) this.#inside.delete(place);
  }
}

const busy = () => new OperationError('unavailable', 'Too many log in at once; try again.');
