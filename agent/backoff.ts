/** Owns how long to wait before a connection is tried again. Pure: chance is an argument. */

const FIRST_MS = 250;
const LONGEST_MS = 10_000;

/** Doubles with each attempt (0 is the first) up to 10 s; jittered to between half and the whole of that. */
export function backoffMs(attempt: number, random: number): number {
  const wholeMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt, 16));
  return Math.round(wholeMs * (0.5 + random / 2));
}
