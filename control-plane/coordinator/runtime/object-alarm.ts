/**
 * The alarm of the coordinator's Durable Object, its only clock between requests. While the object is awake,
 * the alarm rings within 30 s, whatever is due: if it ends before it has saved its state, the alarm wakes the
 * next one (C131). Each setting is a row written, which costs money, so that an alarm which rings too early
 * stays (H402). workerd retries a failed alarm a few times and then gives up, so the alarm handler must never
 * fail.
 */
import type { Logger } from '../ports.ts';

/** The methods of the object's storage that the alarm uses. */
export interface AlarmStorage {
  setAlarm(timeMs: number): Promise<void>;
  deleteAlarm(): Promise<void>;
}

const MIN_RETRY_DELAY_MS = 1_000;
const MAX_RETRY_DELAY_MS = 30_000;
/** How soon another object takes over from one that has ended while it was awake, without any request. */
const GUARD_MS = 30_000;

export class ObjectAlarm {
  readonly #storage: AlarmStorage;
  readonly #log: Logger;
  readonly #nowMs: () => number;
  /** When the alarm rings. Null: it has rung or was deleted, or was not set since the object began. */
  #alarmMs: number | null = null;
  /** When something is due. Null: never. Undefined: not known since the object began. */
  #dueMs: number | null | undefined;
  #failures = 0;

  constructor(storage: AlarmStorage, log: Logger, nowMs: () => number) {
    this.#storage = storage;
    this.#log = log;
    this.#nowMs = nowMs;
  }

  /** True once it is known what is due next. */
  get isDueKnown(): boolean {
    return this.#dueMs !== undefined;
  }

  /** Whatever may change the state in memory is about to run: what is there is saved only later. */
  guard(): void {
    this.#putBy(this.#nowMs() + GUARD_MS);
  }

  /** The object may sleep: until something is due, nobody needs to wake it. */
  rest(): void {
    if (this.#dueMs === undefined || this.#dueMs === this.#alarmMs) return;
    if (this.#dueMs === null) {
      this.#alarmMs = null;
      void this.#storage.deleteAlarm();
    } else if (this.#dueMs > this.#nowMs()) this.#put(this.#dueMs);
  }

  /** Something is due at `timeMs`, and no longer at the previous time; null: nothing is. */
  set(timeMs: number | null): void {
    this.#dueMs = timeMs;
    if (timeMs !== null) this.#putBy(timeMs);
  }

  /** The alarm rings. The object is awake then (`guard`), and answers. */
  rang(): void {
    this.#alarmMs = null;
  }

  /**
   * Runs after the alarm has rung. If something is due, calls `wake` once `prepare` has resolved, now or at a
   * later ring. Never rejects.
   */
  async answer(prepare: () => Promise<void>, wake: () => void): Promise<void> {
    if (this.#dueMs === null) return;
    if (this.#dueMs !== undefined && this.#dueMs > this.#nowMs()) return this.#putBy(this.#dueMs);
    try {
      await prepare();
    } catch (error) {
      const pauseMs = Math.min(MAX_RETRY_DELAY_MS, MIN_RETRY_DELAY_MS * 2 ** this.#failures);
      this.#failures += 1;
      this.#log('alarm.postponed', { error: String(error), pauseMs });
      // If a request has reached the database meanwhile, its turn may have set an earlier time.
      this.#putBy(this.#nowMs() + pauseMs);
      return;
    }
    this.#failures = 0;
    wake();
  }

  #putBy(timeMs: number): void {
    if (this.#alarmMs === null || this.#alarmMs > timeMs) this.#put(timeMs);
  }

  #put(timeMs: number): void {
    this.#alarmMs = timeMs;
    // Not awaited: storage orders its own writes.
    void this.#storage.setAlarm(timeMs);
  }
}
