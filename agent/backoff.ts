/** Owns how long to wait before a connection is tried again. Pure: chance is an argument. */

const FIRST_MS = 250;
const MAX_MS = 10_000;

/**
 * Doubles with each attempt (0 is the first) up to 10 s; jittered to between half and the whole of that, or over `spreadMs`
 * where that is more, so that all agents of a large cluster do not come at once.
 */
export function backoffMs(attempt: number, random: number, spreadMs: number): number {
  const wholeMs = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(attempt, 16));
  const minMs = wholeMs / 2;
  const widthMs = Math.min(Math.max(wholeMs - minMs, spreadMs), MAX_MS - minMs);
  return Math.round(minMs + random * widthMs);
}
