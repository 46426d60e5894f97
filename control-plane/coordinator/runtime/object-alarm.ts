/**
 * Owns the alarm of the coordinator's Durable Object: its only clock while nobody asks it for anything. An alarm that ends
 * with an error is tried again by workerd a few times only, and then never; so this one never does.
 */
import type { Logger } from '../ports.ts';

/** What it needs of the object's storage. */
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

  /** Has it ring at `timeMs`, instead of when it was set to; null: not at all. */
  set(timeMs: number | null): void {
    if (timeMs === this.#alarmMs) return;
    this.#alarmMs = timeMs;
    // Not awaited: storage orders its own writes, and an alarm lost with the object is set again by its next life.
    void (timeMs === null ? this.#storage.deleteAlarm() : this.#storage.setAlarm(timeMs));
  }

  /** It rings: `wake` is called once `prepare` has resolved, now or at a later ring. Never rejects. */
  async ring(prepare: () => Promise<void>, wake: () => void): Promise<void> {
    this.#alarmMs = null;
    try {
      await prepare();
    } catch (error) {
      const pauseMs = Math.min(MAX_RETRY_DELAY_MS, MIN_RETRY_DELAY_MS * 2 ** this.#failures);
      this.#failures += 1;
      this.#log('alarm.postponed', { error: String(error), pauseMs });
      // Where a request has found the database meanwhile, its turn knows better when to ring.
      if (this.#alarmMs === null) this.set(this.#nowMs() + pauseMs);
      return;
    }
    this.#failures = 0;
    // Until the turn has set the next one: an object that dies amid it would not be woken again.
    if (this.#alarmMs === null) this.set(this.#nowMs() + MAX_RETRY_DELAY_MS);
    wake();
  }
}
