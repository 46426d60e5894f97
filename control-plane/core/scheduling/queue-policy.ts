/** Owns the order in which each policy has what waits. Pure. */
import type { QueuePolicy } from '../model/scheduler-config.ts';

/** Ids ascend with the time of submission. */
export interface QueueItem {
  readonly id: number;
  readonly userId: number;
  /** As its application says; what it means is the users' affair. */
  readonly size: number;
  readonly timeSubmitMs: number;
}

export type Comparator = (a: QueueItem, b: QueueItem) => number;

/** A size of DYNSIZE shrinks by 1 in this time; what waits alike keeps its order. */
const SHRINK_MS = 1_000;
const sizeAtSubmission = ({ size, timeSubmitMs }: QueueItem) => size + timeSubmitMs / SHRINK_MS;

export const queuePolicyComparators: Record<QueuePolicy, Comparator> = {
  FIFO: (a, b) => a.id - b.id,
  SIZE: (a, b) => a.size - b.size || a.id - b.id,
  DYNSIZE: (a, b) => sizeAtSubmission(a) - sizeAtSubmission(b) || a.id - b.id,
};

/** How many of what ascends come before `wanted`. */
export function lowerBound<T, W>(
  sorted: readonly T[],
  wanted: W,
  compare: (one: T, wanted: W) => number,
): number {
  let from = 0;
  let to = sorted.length;
  // Most come last.
  if (to > 0 && compare(sorted[to - 1] as T, wanted) < 0) return to;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (compare(sorted[middle] as T, wanted) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}
