/**
 * The scheduler's view of the cluster: the state that it reads, the two actions by which it changes that
 * state, and the bound on placed instances. The cluster satisfies `SchedulerState` (state/cluster.ts), and
 * the reconciler supplies the actions. Pure.
 */
import type { ExceededLimit, Usage } from '../accounts/quota.ts';
import type { Execution } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { ResourceDemand } from '../model/resources.ts';
import type { SchedulerConfig } from '../model/scheduler-config.ts';
import type { Service } from '../model/service.ts';
import type { FeasibilityCache } from './feasibility.ts';
import type { Placement } from './gang-placement.ts';
import type { HostIndex } from './host-index.ts';
import type { FairShareKey, Queue } from './queue.ts';
import type { QueueItem } from './queue-policy.ts';

export interface SchedulerState {
  readonly schedulerConfig: SchedulerConfig;
  readonly executions: ReadonlyMap<number, Execution>;
  readonly hosts: ReadonlyMap<number, Host>;
  readonly hostIndex: HostIndex;
  /** Executions that may be placed now. */
  readonly queue: Queue<Execution>;
  /** Elastic services without a host, of running executions. */
  readonly elastic: Queue<QueuedElasticService>;
  /** How many services are placed. */
  readonly placedWeight: number;
  /** The fewest instances of a start that the bound on placed instances prevents, or null. */
  leastOverBound: number | null;
  /** How many elastic services are placed. */
  readonly elasticCount: number;
  readonly feasibility: FeasibilityCache;
  /** Managed in backfill-reservation.ts. */
  reservation: BackfillReservation | null;

  fairShareKey(userId: number): FairShareKey;
  /** Caps of the user's quota that `wanted` would exceed on top of the current usage. */
  exceededLimits(userId: number, wanted: Usage): ExceededLimit[];
  /** Caps of the user's quota that a start with this demand would exceed now. */
  exceededBy(userId: number, demand: ResourceDemand): ExceededLimit[];
  servicesAt(hostId: number): ReadonlySet<Service>;
  /** Placed elastic services of the user. */
  elasticOf(userId: number): ReadonlySet<Service>;
}

/** A computation that yields executions whose services it needs in memory. */
export type Loading<T = void> = Generator<readonly Execution[], T, void>;

/** Both take effect at once: the state that the scheduler reads next includes them. */
export interface SchedulingActions {
  /** Reserves the placements. A queued execution leaves the queue; an elastic service leaves `elastic`. */
  place(execution: Execution, placements: Placement<Service>[]): void;
  /** Releases the reservation of an elastic service, whose container is then stopped. */
  preempt(service: Service): void;
}

/** An elastic service that may be placed while its execution runs. */
export interface QueuedElasticService extends QueueItem {
  execution: Execution;
  service: Service;
}

/** Capacity that is reserved for one execution, so that backfill by others cannot delay it for ever. */
export interface BackfillReservation {
  readonly execution: Execution;
  /** When capacity will be reserved; null once it is. */
  dueMs: number | null;
  /** The reserved capacity, by service; empty while none is reserved. */
  placements: readonly Placement[];
  /** True from the moment that capacity is reserved until the first attempt to start in it. */
  isUntried: boolean;
}

/** Whether the bound on placed instances is reached: nothing can be placed until something ends. */
export const isFull = ({ placedWeight, schedulerConfig }: SchedulerState): boolean =>
  placedWeight >= schedulerConfig.bounds.placedInstances;

/** The bound, if a start of that weight would exceed it on top of `placed`; null if it would not. */
export function exceededPlacedBound(
  { placedWeight, schedulerConfig }: SchedulerState,
  wanted: number,
  placed = placedWeight,
): ExceededLimit | null {
  const { placedInstances: limit } = schedulerConfig.bounds;
  const over = placed + wanted - limit;
  return over > 0 ? { dimension: 'instances', limit, used: placed, wanted, over } : null;
}
