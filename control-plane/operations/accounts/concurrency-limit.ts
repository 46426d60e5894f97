/** Owns how much of a costly kind of work is done at once in this process or isolate; the rest waits in line, within limits. */
import { OperationError } from '../../core/model/errors.ts';

const MAX_WAITING = 512;
const WAIT_MS = 15_000;
/** Work that takes longer is lost: workerd may end a request without a word. */
const LOST_MS = 60_000;

interface Slot {
  sinceMs: number;
}

export class ConcurrencyLimit {
  readonly #most: number;
  readonly #nowMs: () => number;
  readonly #inside = new Set<Slot>();
  /** In the order they came. */
  readonly #waiting = new Set<(place: Slot) => void>();

  constructor(most: number, nowMs: () => number) {
    this.#most = most;
    this.#nowMs = nowMs;
  }

  /** Rejects with `unavailable` where the line is too long. */
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
      // workerd would take a request for hung that waits for another one and for nothing of its own.
      timer = setTimeout(() => {
        if (this.#waiting.delete(enter)) refuse(busy());
      }, WAIT_MS);
    });
    return turn.finally(() => clearTimeout(timer));
  }

  /** The place goes to the next in line. */
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
