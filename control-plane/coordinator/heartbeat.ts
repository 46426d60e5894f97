/**
 * Heartbeat: while a coordinator holds the epoch, it moves the counter that a standby watches, also while it
 * reads its state and while it has nothing to commit (C252, COORD-6).
 */
import { BEAT_PERIOD_MS } from '../core/state/takeover-watch.ts';
import type { Db } from '../store/db/db.ts';
import { type Epoch, fence, isStale } from '../store/db/epoch.ts';
import type { Clock } from './ports.ts';

export class Heartbeat {
  readonly #db: Db;
  readonly #clock: Clock;
  readonly #superseded: () => void;
  #epoch: Epoch | undefined;

  /** `superseded` is called when the database shows that a later coordinator has taken over. */
  constructor(db: Db, clock: Clock, superseded: () => void) {
    this.#db = db;
    this.#clock = clock;
    this.#superseded = superseded;
  }

  /** Begins at once. A heartbeat of an earlier epoch ends. */
  start(epoch: Epoch): void {
    this.#epoch = epoch;
    this.#beat(epoch);
  }

  stop(): void {
    this.#epoch = undefined;
  }

  /** The next beat does not wait for the answer, which may take long after one lost packet. */
  #beat(epoch: Epoch): void {
    if (this.#epoch !== epoch) return;
    this.#clock.after(BEAT_PERIOD_MS, () => this.#beat(epoch));
    this.#db.batch([fence(epoch)]).catch((error: unknown) => {
      // Any other error, such as an unreachable database, shows no takeover, and the turns meet it as well.
      if (isStale(error) && this.#epoch === epoch) this.#superseded();
    });
  }
}
