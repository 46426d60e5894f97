/** A clock for tests of the coordinator: time moves only on request; turns begin as they do on Node. */
import type { Clock } from '../../../control-plane/coordinator/ports.ts';

export class TestClock implements Clock {
  /** The time of the coordinator's alarm. */
  alarmMs: number | null = null;
  #nowMs = 1_700_000_000_000;
  #stepsMs = 0;
  #timers: { timeMs: number; run: () => void }[] = [];

  /** Number of timers that are set. */
  get timers(): number {
    return this.#timers.length;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs - this.#stepsMs;
  }

  wakeAt(timeMs: number | null): void {
    this.alarmMs = timeMs;
  }

  defer(turn: () => void): void {
    setImmediate(turn);
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { timeMs: this.monotonicMs() + delayMs, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }

  /** Sets the wall clock. No time passes. */
  step(ms: number): void {
    this.#nowMs += ms;
    this.#stepsMs += ms;
  }

  /** Advances the time, and then runs the timers that are due. */
  pass(ms: number): void {
    this.#nowMs += ms;
    const due = this.#timers.filter(({ timeMs }) => timeMs <= this.monotonicMs());
    this.#timers = this.#timers.filter((timer) => !due.includes(timer));
    for (const { run } of due) run();
  }
}
