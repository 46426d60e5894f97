/**
 * Owns how the scheduler may be set: which of those that wait comes first, which of the hosts that fit is taken, when room
 * is kept, and when a host that is silent is lost. Pure.
 */

export const queuePolicies = ['FIFO', 'SIZE', 'DYNSIZE'] as const;
export type QueuePolicy = (typeof queuePolicies)[number];
export const placementPolicies = ['average', 'waterfill', 'random'] as const;
export type PlacementPolicy = (typeof placementPolicies)[number];

export const hostLossPolicies = ['wait', 'requeue'] as const;

export interface SchedulerConfig {
  queuePolicy: QueuePolicy;
  placementPolicy: PlacementPolicy;
  /** Of `random` placement: the same seed and state give the same hosts. */
  seed: number;
  /** How long the oldest that waits is passed by what fits; then room is kept for it (hold.ts). */
  backfillReserveAfterMs: number;
  /** Without contact for this long a host counts as lost. */
  lostAfterMs: number;
  /** What becomes of what a lost host runs: it is waited for, or goes back to the queue once its lease has passed. */
  hostLossPolicy: (typeof hostLossPolicies)[number];
}

export const defaultSchedulerConfig: SchedulerConfig = {
  queuePolicy: 'FIFO',
  placementPolicy: 'average',
  seed: 1,
  backfillReserveAfterMs: 10 * 60_000,
  lostAfterMs: 90_000,
  hostLossPolicy: 'wait',
};
