/**
 * When a lost connection is tried again: after pauses that grow, for as long as the server waits for it
 * (H834). Never touches the page.
 */

/** Before the first tries; the last one before all others. */
const PAUSES_MS = [250, 1_000, 2_000, 4_000, 8_000] as const;
/** A try that has no answer by then has failed. */
const TRY_MS = 10_000;
export const GIVE_UP_MS = 120_000;

export interface ReconnectionEvents {
  /** Must lead to `lost` or `connected`. */
  connect(): void;
  /** The try takes too long, and must lead to `lost`. */
  abandon(): void;
  gaveUp(): void;
}

export class Reconnection {
  readonly #events: ReconnectionEvents;
  /** Undefined while connected. */
  #lostMs: number | undefined;
  #tries = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(events: ReconnectionEvents) {
    this.#events = events;
  }

  /** The connection was lost, or a try has failed. */
  lost(): void {
    clearTimeout(this.#timer);
    const nowMs = performance.now();
    this.#lostMs ??= nowMs;
    const pauseMs = PAUSES_MS[Math.min(this.#tries, PAUSES_MS.length - 1)] ?? 0;
    this.#tries += 1;
    const leftMs = this.#lostMs + GIVE_UP_MS - nowMs;
    this.#timer =
      pauseMs < leftMs
        ? setTimeout(() => this.#try(), pauseMs)
        : setTimeout(() => this.#events.gaveUp(), Math.max(0, leftMs));
  }

  connected(): void {
    this.stop();
    this.#lostMs = undefined;
    this.#tries = 0;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #try(): void {
    this.#timer = setTimeout(() => this.#events.abandon(), TRY_MS);
    this.#events.connect();
  }
}
