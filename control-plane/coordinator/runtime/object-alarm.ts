/**
 * The alarm of the coordinator's Durable Object, its only clock between requests. workerd retries a failed
 * alarm a few times and then gives up, so the alarm handler must never fail.
 */
import type { Logger } from '../ports.ts';

/** The methods of the object's storage that the alarm uses. */
export interface AlarmStorage {
  setAlarm(timeMs: number): Promise<void>;
  deleteAlarm(): Promise<void>;
}

const MIN_RETRY_DELAY_MS = 1_000;
const MAX_RETRY_DELAY_MS = 30_000;

export class ObjectAlarm {
  readonly #storage: AlarmStorage;
  readonly #log: Logger;
  readonly #nowMs: () => number;
  #alarmMs: number | null = null;
  #failures = 0;

  constructor(storage: AlarmStorage, log: Logger, nowMs: () => number) {
    this.#storage = storage;
    this.#log = log;
    this.#nowMs = nowMs;
  }

  /** Sets the alarm to `timeMs`, in place of the previous time; null clears it. */
  set(timeMs: number | null): void {
    if (timeMs === this.#alarmMs) return;
    this.#alarmMs = timeMs;
    // Not awaited: storage orders its own writes, and an object that restarts sets the alarm again.
    void (timeMs === null ? this.#storage.deleteAlarm() : this.#storage.setAlarm(timeMs));
  }

  /**
   * Runs when the alarm rings. Calls `wake` once `prepare` has resolved, at this ring or a later one. Never
   * rejects.
   */
  async ring(prepare: () => Promise<void>, wake: () => void): Promise<void> {
    this.#alarmMs = null;
    try {
      await prepare();
    } catch (error) {
      const pauseMs = Math.min(MAX_RETRY_DELAY_MS, MIN_RETRY_DELAY_MS * 2 ** this.#failures);
      this.#failures += 1;
      this.#log('alarm.postponed', { error: String(error), pauseMs });
      // If a request has reached the database meanwhile, its turn has set a better time.
      if (this.#alarmMs === null) this.set(this.#nowMs() + pauseMs);
      return;
    }
    this.#failures = 0;
    // Holds until the turn sets the next alarm. Without it, an object that dies during the turn would never
    // wake.
    if (this.#alarmMs === null) this.set(this.#nowMs() + MAX_RETRY_DELAY_MS);
    wake();
  }
}
