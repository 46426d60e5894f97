/** Owns the coordinator's clock for tests: time stands still until it is moved; turns begin as they do on Node. */
import type { Clock } from '../../../control-plane/coordinator/ports.ts';

export class TestClock implements Clock {
  /** When the coordinator asked to be woken. */
  alarmMs: number | null = null;
  #nowMs = 1_700_000_000_000;
  #timers: { timeMs: number; run: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  wakeAt(timeMs: number | null): void {
    this.alarmMs = timeMs;
  }

  defer(turn: () => void): void {
    setImmediate(turn);
  }

  after(delayMs: number, run: () => void): void {
    this.#timers.push({ timeMs: this.#nowMs + delayMs, run });
  }

  /** Calls what is due by then, with the time at the end. */
  pass(ms: number): void {
    this.#nowMs += ms;
    const due = this.#timers.filter(({ timeMs }) => timeMs <= this.#nowMs);
    this.#timers = this.#timers.filter((timer) => !due.includes(timer));
    for (const { run } of due) run();
  }
}
