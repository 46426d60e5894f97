/**
 * How long agents collect output while many logs are read through one process: each message takes time there,
 * on workerd 0.2 ms, for which everything else waits (P178). Pure.
 */

/** So many logs are read without a further delay. */
const FEW_LOGS = 10;
/** What agents collect at least by themselves (P156). */
const LEAST_MS = 20;
const MOST_MS = 200;

/**
 * The time in ms; 0: no longer than agents do by themselves. It doubles with the number of logs, so that some
 * 500 messages come in a second, and a reader who comes or goes seldom changes it.
 */
export function collectMs(openLogs: number): number {
  if (openLogs <= FEW_LOGS) return 0;
  return Math.min(MOST_MS, LEAST_MS * 2 ** Math.ceil(Math.log2(openLogs / FEW_LOGS)));
}
