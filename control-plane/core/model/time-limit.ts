/** Time limits: how long an execution may last from its placement on, and its end when that is over. Pure. */
import { OperationError } from './errors.ts';
import type { Ending, Execution } from './execution.ts';

/** A year. */
export const MAX_TIME_LIMIT_S = 31_536_000;

/** What a quota states about the executions of its users. */
export interface TimeLimits {
  /** The time limit of executions that state none; 0: none. */
  timeLimitS: number;
  /** The longest time limit that an execution may have; 0: any, or none. */
  maxTimeLimitS: number;
}

/**
 * The limit of a new execution; null: none. `wantedS` is undefined if the submission states none. Throws
 * `invalid` if it is beyond what the quota allows.
 */
export function newTimeLimitS(quota: TimeLimits, wantedS: number | undefined): number | null {
  if (wantedS !== undefined) {
    assertLimitAllowed(quota, wantedS);
    return wantedS;
  }
  const { timeLimitS, maxTimeLimitS } = quota;
  if (timeLimitS === 0 || maxTimeLimitS === 0) return timeLimitS || maxTimeLimitS || null;
  return Math.min(timeLimitS, maxTimeLimitS);
}

/** When the time of a placed execution is over; null if it has no limit or is not placed. */
export const timeLimitMs = ({ timeLimitS, timePlaceMs }: Execution): number | null =>
  timeLimitS === null || timePlaceMs === null ? null : timePlaceMs + timeLimitS * 1_000;

/** The end of an execution whose time is over. */
export function endingByTime(execution: Execution, nowMs: number): Ending | null {
  const overMs = timeLimitMs(execution);
  if (overMs === null || nowMs < overMs) return null;
  const message = `stopped: its time limit of ${execution.timeLimitS} s, counted from its placement, was over`;
  return { status: 'error', message };
}

/** Throws `invalid` if the quota does not allow the limit; null: none. */
export function assertLimitAllowed({ maxTimeLimitS }: TimeLimits, limitS: number | null): void {
  if (maxTimeLimitS === 0 || (limitS !== null && limitS <= maxTimeLimitS)) return;
  const given = limitS === null ? 'no time limit' : `a time_limit of ${limitS} s`;
  throw new OperationError(
    'invalid',
    `Your quota allows a time_limit of at most ${maxTimeLimitS} s, not ${given}. State ${maxTimeLimitS} or less, or ask an administrator to raise max_time_limit of the quota.`,
  );
}
