/**
 * Heartbeat: while a coordinator holds the epoch, it moves the counter that a standby watches, also while it
 * reads its state (C252, COORD-6).
 */
import { BEAT_PERIOD_MS, SILENCE_MS } from '../../core/state/takeover-watch.ts';
import type { Db } from '../../store/db/db.ts';
import { beat, type Epoch, isStale } from '../../store/db/epoch.ts';
import type { Clock } from '../ports.ts';

/** After so many beats without an answer a standby may have taken over. */
const MAX_UNANSWERED = SILENCE_MS / BEAT_PERIOD_MS;

export class Heartbeat {
  readonly #db: Db;
  readonly #clock: Clock;
  readonly #doubt: () => void;
  #epoch: Epoch | undefined;
  #unanswered = 0;

  /**
   * `doubt` is called when a later coordinator has taken over, and with each beat while one may have done so
   * because the database does not answer.
   */
  constructor(db: Db, clock: Clock, doubt: () => void) {
    this.#db = db;
    this.#clock = clock;
    this.#doubt = doubt;
  }

  /** True once so many beats have no answer that a standby may have taken over. */
  get isUnanswered(): boolean {
    return this.#unanswered > MAX_UNANSWERED;
  }

  /** Begins at once. A heartbeat of an earlier epoch ends. */
  start(epoch: Epoch): void {
    this.#epoch = epoch;
    this.#unanswered = 0;
    this.#beat(epoch);
  }

  stop(): void {
    this.#epoch = undefined;
  }

  /** The next beat does not wait for the answer, which may take long after one lost packet. */
  #beat(epoch: Epoch): void {
    if (this.#epoch !== epoch) return;
    this.#clock.after(BEAT_PERIOD_MS, () => this.#beat(epoch));
    this.#unanswered += 1;
    if (this.isUnanswered) this.#doubt();
    this.#db.batch([beat(epoch)]).then(
      () => {
        this.#unanswered = 0;
      },
      (error: unknown) => {
        if (isStale(error) && this.#epoch === epoch) this.#doubt();
      },
    );
  }
}
