/** Owns the coordinator's time on Node: timers, and turns that begin once the event loop has taken in what is there. */
import type { Clock } from '../ports.ts';

/** setTimeout takes no longer delay; a wake that comes too early does no harm. */
const MAX_DELAY_MS = 2 ** 31 - 1;

export function nodeClock(wake: () => void): Clock & { stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  return {
    nowMs: () => Date.now(),
    wakeAt(timeMs) {
      clearTimeout(timer);
      if (timeMs === null) return;
      const delayMs = Math.max(1, timeMs - Date.now());
      timer = setTimeout(wake, Math.min(delayMs, MAX_DELAY_MS));
    },
    // Once more around the loop, for what came while the last answers went out: with larger commits, 8 % more submissions.
    defer: (turn) => setImmediate(() => setImmediate(turn)),
    after: (delayMs, run) => void setTimeout(run, delayMs).unref(),
    stop: () => clearTimeout(timer),
  };
}
