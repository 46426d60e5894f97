/**
 * The alarm of the coordinator's Durable Object, its only clock between requests. Each setting is a row
 * written, which costs money, so that an alarm which rings too early stays (H402). workerd retries a failed
 * alarm a few times and then gives up, so the alarm handler must never fail.
 */
import type { Logger } from '../ports.ts';

/** The methods of the object's storage that the alarm uses. */
export interface AlarmStorage {
  setAlarm(timeMs: number): Promise<void>;
}

const MIN_RETRY_DELAY_MS = 1_000;
const MAX_RETRY_DELAY_MS = 30_000;

export class ObjectAlarm {
  readonly #storage: AlarmStorage;
  readonly #log: Logger;
  readonly #nowMs: () => number;
  /** When the alarm rings. Null: it has rung, or was not set since the object began. */
  #alarmMs: number | null = null;
  /** The alarm is set in case the object dies during a turn, which then sets the right time. */
  #isProvisional = false;
  /** When something is due. Null: never. Undefined: not known since the object began. */
  #dueMs: number | null | undefined;
  #failures = 0;

  constructor(storage: AlarmStorage, log: Logger, nowMs: () => number) {
    this.#storage = storage;
    this.#log = log;
    this.#nowMs = nowMs;
  }

  /** Something is due at `timeMs`, and no longer at the previous time; null: nothing is. */
  set(timeMs: number | null): void {
    this.#dueMs = timeMs;
    if (timeMs === null) return;
    const ringsInTime = this.#alarmMs !== null && this.#alarmMs <= timeMs;
    if (!ringsInTime || this.#isProvisional) this.#put(timeMs);
  }

  /**
   * Runs when the alarm rings. If something is due, calls `wake` once `prepare` has resolved, at this ring or
   * a later one. Never rejects.
   */
  async ring(prepare: () => Promise<void>, wake: () => void): Promise<void> {
    this.#alarmMs = null;
    if (this.#dueMs === null) return;
    if (this.#dueMs !== undefined && this.#dueMs > this.#nowMs()) {
      this.#put(this.#dueMs);
      return;
    }
    try {
      await prepare();
    } catch (error) {
      const pauseMs = Math.min(MAX_RETRY_DELAY_MS, MIN_RETRY_DELAY_MS * 2 ** this.#failures);
      this.#failures += 1;
      this.#log('alarm.postponed', { error: String(error), pauseMs });
      // If a request has reached the database meanwhile, its turn has set a better time.
      if (this.#alarmMs === null) this.#put(this.#nowMs() + pauseMs);
      return;
    }
    this.#failures = 0;
    // Holds until the turn sets the next alarm. Without it, an object that dies during the turn would never
    // wake.
    if (this.#alarmMs === null) {
      this.#put(this.#nowMs() + MAX_RETRY_DELAY_MS);
      this.#isProvisional = true;
    }
    wake();
  }

  #put(timeMs: number): void {
    this.#alarmMs = timeMs;
    this.#isProvisional = false;
    // Not awaited: storage orders its own writes, and an object that restarts sets the alarm again.
    void this.#storage.setAlarm(timeMs);
  }
}
