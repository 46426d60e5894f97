/** A clock for tests of the coordinator: time moves only on request; turns begin as they do on Node. */
import type { Clock } from '../../../control-plane/coordinator/ports.ts';

export class TestClock implements Clock {
  /** The time of the coordinator's alarm. */
  alarmMs: number | null = null;
  #nowMs = 1_700_000_000_000;
  #timers: { timeMs: number; run: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  wakeAt(timeMs: number | null): void {
    this.alarmMs = timeMs;
  }

  defer(turn: () => void): void {
    setImmediate(turn);
  }

  after(delayMs: number, run: () => void): () => void {
    const timer = { timeMs: this.#nowMs + delayMs, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }

  /** Advances the time, and then runs the timers that are due. */
  pass(ms: number): void {
    this.#nowMs += ms;
    const due = this.#timers.filter(({ timeMs }) => timeMs <= this.#nowMs);
    this.#timers = this.#timers.filter((timer) => !due.includes(timer));
    for (const { run } of due) run();
  }
}
