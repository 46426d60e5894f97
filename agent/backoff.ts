/** Owns how long to wait before a connection is tried again. Pure: chance is an argument. */

const FIRST_MS = 250;
const LONGEST_MS = 10_000;

/**
 * Doubles with each attempt (0 is the first) up to 10 s; jittered to between half and the whole of that, or over `spreadMs`
 * where that is more, so that all agents of a large cluster do not come at once.
 */
export function backoffMs(attempt: number, random: number, spreadMs: number): number {
  const wholeMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt, 16));
  const leastMs = wholeMs / 2;
  const widthMs = Math.min(Math.max(wholeMs - leastMs, spreadMs), LONGEST_MS - leastMs);
  return Math.round(leastMs + random * widthMs);
}
