/** Backoff: the wait before the agent dials again. Pure: the random number is an argument. */

const FIRST_MS = 250;
const MAX_MS = 10_000;

/**
 * The base wait doubles with each attempt (0 is the first) up to 10 s. The result is random between half the
 * base and the whole, or over a range of `spreadMs` if that is wider, so that the agents of a large cluster
 * do not return all at once. The result never exceeds 10 s.
 */
export function backoffMs(attempt: number, random: number, spreadMs: number): number {
  const wholeMs = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(attempt, 16));
  const minMs = wholeMs / 2;
  const widthMs = Math.min(Math.max(wholeMs - minMs, spreadMs), MAX_MS - minMs);
  return Math.round(minMs + random * widthMs);
}
