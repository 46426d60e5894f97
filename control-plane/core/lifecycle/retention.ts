/**
 * Retention: which ended executions may be removed, and how often and how fast the history is reviewed. Pure.
 */
import { type Execution, isEnded } from '../model/execution.ts';
import type { Cluster } from '../state/cluster.ts';

export const DAY_MS = 86_400_000;

/** Executions that one batch removes. */
export const BATCH_SIZE = 20;
/** Deletions that wait for their hosts. Beyond that, no review adds others. */
const MAX_PENDING = 1_000;
/** A batch may cost a fortieth of the time. Hosts that remove logs cause about as much again. */
const PAUSES_PER_COST = 39;
const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 60_000;
const MIN_PERIOD_MS = 1_000;
const MAX_PERIOD_MS = 3_600_000;
const RETRY_MS = 60_000;

/** How long ended executions and removed hosts are kept; null: for ever. `days` 0 means for ever. */
export const keepMsOf = (days: number): number | null => (days === 0 ? null : days * DAY_MS);

/** The latest end that is due at `nowMs`; null if nothing ever is. */
export const dueEndMs = (keepMs: number | null, nowMs: number): number | null =>
  keepMs === null ? null : nowMs - keepMs;

/** Time from one review of the history to the next, and after one that could not finish. */
export const reviewPeriodMs = (keepMs: number | null): number =>
  Math.min(MAX_PERIOD_MS, Math.max(MIN_PERIOD_MS, (keepMs ?? MAX_PERIOD_MS * 100) / 100));
export const retryPeriodMs = (keepMs: number | null): number => Math.min(RETRY_MS, reviewPeriodMs(keepMs));

/**
 * When the next review is due. A review in the future was recorded by a clock that has been set back since.
 */
export function nextReviewMs(reviewedMs: number, keepMs: number | null, nowMs: number): number {
  return reviewedMs > nowMs ? nowMs : reviewedMs + reviewPeriodMs(keepMs);
}

/** Pause after a step that has cost others that much time. */
export const pauseMs = (costMs: number): number =>
  Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, costMs * PAUSES_PER_COST));

/**
 * Whether an execution that is not live may be removed now. Its hosts must be connected, since its logs go
 * first, unless they were removed.
 */
export function isRemovable({ hosts }: Cluster, execution: Execution, endMs: number): boolean {
  if (!isEnded(execution) || execution.deleted) return false;
  if (execution.timeEndMs === null || execution.timeEndMs > endMs) return false;
  return execution.services.every(({ generation, logs, hostId }) => {
    const host = hosts.get(hostId ?? 0);
    return generation === 0 || logs === 'forgotten' || !host || host.connected;
  });
}

/** Whether so many deletions wait for their hosts that a review must not add others. */
export function hasTooManyPending({ executions }: Cluster): boolean {
  let pending = 0;
  for (const execution of executions.values()) if (isEnded(execution)) pending += 1;
  return pending >= MAX_PENDING;
}
