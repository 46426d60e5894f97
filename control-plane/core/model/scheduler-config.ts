/** Settings of the scheduler: queue order, choice of hosts, reservation, host loss and bounds. Pure. */
import { defaultLimits } from '../../../shared/settings/limits.ts';
import { type Bounds, defaultBounds } from './bounds.ts';
import { defaultStreamRules, type StreamRules } from './stream-rules.ts';

export const queuePolicies = ['FIFO', 'SIZE', 'DYNSIZE'] as const;
export type QueuePolicy = (typeof queuePolicies)[number];
export const placementPolicies = ['average', 'waterfill', 'random'] as const;
export type PlacementPolicy = (typeof placementPolicies)[number];

export const hostLossPolicies = ['wait', 'requeue'] as const;

export interface SchedulerConfig {
  queuePolicy: QueuePolicy;
  placementPolicy: PlacementPolicy;
  /** For `random` placement: the same seed and state give the same hosts. */
  seed: number;
  /**
   * How long executions that fit may pass the oldest waiting one. Then capacity is reserved for that one
   * (scheduling/backfill-reservation.ts).
   */
  backfillReserveAfterMs: number;
  /** After this long without contact a host is lost. */
  lostAfterMs: number;
  /**
   * For the services of a lost host: wait for the host, or requeue them once the host's lease has expired.
   */
  hostLossPolicy: (typeof hostLossPolicies)[number];
  /** Memory limit of a service that has neither a maximum nor a minimum. */
  defaultMemoryBytes: number;
  bounds: Bounds;
  streams: StreamRules;
}

export const defaultSchedulerConfig: SchedulerConfig = {
  queuePolicy: 'FIFO',
  placementPolicy: 'average',
  seed: 1,
  backfillReserveAfterMs: defaultLimits.backfillReserveAfterS * 1_000,
  lostAfterMs: defaultLimits.hostLostAfterS * 1_000,
  hostLossPolicy: 'wait',
  defaultMemoryBytes: defaultLimits.defaultMemoryBytes,
  bounds: defaultBounds,
  streams: defaultStreamRules,
};
