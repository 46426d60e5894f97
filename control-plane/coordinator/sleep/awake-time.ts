/**
 * How long an object was awake: it ran a handler, waited for a call, or had set a timer, without which the
 * runtime may let it sleep (C233).
 */
import type { AwakeTotals } from '../../core/views/awake-totals.ts';
import type { Clock } from '../ports.ts';

/** After so long without work the runtime takes the memory of an object that can sleep. */
export const RUNTIME_KEEPS_MS = 10_000;

export class AwakeTime {
  readonly #nowMs: () => number;
  readonly #idle: (() => void) | undefined;
  #before: AwakeTotals;
  #active = 0;
  /** When the present work began, or the last one ended. Null: no work yet since the object is in memory. */
  #turnedMs: number | null = null;

  /** `before`: the totals before the object slept. `idle` is called whenever its work ends. */
  constructor(nowMs: () => number, before?: AwakeTotals, idle?: () => void) {
    this.#nowMs = nowMs;
    this.#idle = idle;
    this.#before = before ?? { sinceMs: nowMs(), wakes: 0, awakeMs: 0, memoryMs: 0 };
  }

  /** Number of things that are under way. */
  get active(): number {
    return this.#active;
  }

  get totals(): AwakeTotals {
    const { sinceMs, wakes, awakeMs, memoryMs } = this.#before;
    const nowMs = this.#nowMs();
    const presentMs = this.#active > 0 && this.#turnedMs !== null ? nowMs - this.#turnedMs : 0;
    return { sinceMs, wakes, awakeMs: awakeMs + presentMs, memoryMs: memoryMs + presentMs };
  }

  /** Work begins. Returns a function that ends it, and does nothing when called again. */
  begin(): () => void {
    if (this.#active === 0) this.#turnAwake();
    this.#active += 1;
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      if (this.#active === 1) this.#before = this.totals;
      this.#active -= 1;
      if (this.#active > 0) return;
      this.#turnedMs = this.#nowMs();
      this.#idle?.();
    };
  }

  async during<T>(work: () => T | Promise<T>): Promise<T> {
    const end = this.begin();
    try {
      return await work();
    } finally {
      end();
    }
  }

  /** The clock, whose timers count. */
  clockOf<T extends Pick<Clock, 'after'>>(clock: T): T {
    const after: Clock['after'] = (delayMs, run) => {
      const end = this.begin();
      const cancel = clock.after(delayMs, () => {
        run();
        end();
      });
      return () => {
        cancel();
        end();
      };
    };
    return { ...clock, after };
  }

  #turnAwake(): void {
    const nowMs = this.#nowMs();
    const idleMs = this.#turnedMs === null ? RUNTIME_KEEPS_MS : nowMs - this.#turnedMs;
    const { wakes, memoryMs } = this.#before;
    const isFirst = this.#turnedMs === null && wakes === 0;
    this.#before = {
      ...this.#before,
      wakes: idleMs >= RUNTIME_KEEPS_MS ? wakes + 1 : wakes,
      memoryMs: isFirst ? memoryMs : memoryMs + Math.min(RUNTIME_KEEPS_MS, Math.max(0, idleMs)),
    };
    this.#turnedMs = nowMs;
  }
}
