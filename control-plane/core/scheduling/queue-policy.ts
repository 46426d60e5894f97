/** Queue policies: the order in which each policy sorts the items that wait (SCHED-2). Pure. */
import type { ResourceDemand } from '../model/resources.ts';
import type { QueuePolicy } from '../model/scheduler-config.ts';

/** What orders an item. Ids ascend with the time of submission. */
export interface Ordered {
  readonly id: number;
  readonly userId: number;
  /** As the application states it; Berth gives it no meaning of its own. */
  readonly size: number;
  readonly timeSubmitMs: number;
}

export interface QueueItem extends Ordered {
  /** In a queue, the equivalence class of the demand. */
  readonly demand: ResourceDemand;
}

export type Comparator = (a: Ordered, b: Ordered) => number;

/**
 * Under DYNSIZE a size shrinks by 1 in this time. All sizes shrink alike, so the order of waiting items never
 * changes.
 */
const SHRINK_MS = 1_000;
const sizeAtSubmission = ({ size, timeSubmitMs }: Ordered) => size + timeSubmitMs / SHRINK_MS;

export const queuePolicyComparators: Record<QueuePolicy, Comparator> = {
  FIFO: (a, b) => a.id - b.id,
  SIZE: (a, b) => a.size - b.size || a.id - b.id,
  DYNSIZE: (a, b) => sizeAtSubmission(a) - sizeAtSubmission(b) || a.id - b.id,
};

/** How many elements of an ascending array come before `wanted`. */
export function lowerBound<T, W>(
  sorted: readonly T[],
  wanted: W,
  compare: (one: T, wanted: W) => number,
): number {
  let from = 0;
  let to = sorted.length;
  // Most are appended.
  if (to > 0 && compare(sorted[to - 1] as T, wanted) < 0) return to;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (compare(sorted[middle] as T, wanted) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}
