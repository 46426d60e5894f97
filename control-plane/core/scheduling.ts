/**
 * Owns how the scheduler may be set: which of those that wait comes first, which of the hosts that fit is taken, and when one
 * that is silent is lost. Pure.
 */

export const queuePolicies = ['FIFO', 'SIZE', 'DYNSIZE'] as const;
export const placementPolicies = ['average', 'waterfill', 'random'] as const;

export interface SchedulingPolicy {
  queue: (typeof queuePolicies)[number];
  placement: (typeof placementPolicies)[number];
  /** Of `random` placement: the same seed and state give the same hosts. */
  seed: number;
  /** Without contact for this long a host counts as lost. */
  lostAfterMs: number;
}

export const defaultScheduling: SchedulingPolicy = {
  queue: 'FIFO',
  placement: 'average',
  seed: 1,
  lostAfterMs: 90_000,
};
