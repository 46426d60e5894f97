/**
 * Explanation: why an execution has not progressed further. For a queued execution the functions of the
 * scheduler give the answer (SCHED-9); for a started one, the state of its services. Pure; changes nothing.
 */

import { noSuchExecution } from '../accounts/account.ts';
import { type ExceededLimit, noUsage } from '../accounts/quota.ts';
import { OperationError } from '../model/errors.ts';
import {
  type Ending,
  type Execution,
  type ExecutionStatus,
  essentialServices,
  isLoaded,
  weightOf,
} from '../model/execution.ts';
import { blockingConditions } from '../model/host.ts';
import type { ResourceDemand } from '../model/resources.ts';
import type { Service } from '../model/service.ts';
import { count } from '../model/text.ts';
import type { Placement } from '../scheduling/gang-placement.ts';
import { isUsable } from '../scheduling/host-filters.ts';
import { victimsForQuota } from '../scheduling/preemption.ts';
import { demandOf } from '../scheduling/resource-demand.ts';
import { exceededPlacedBound } from '../scheduling/scheduler-state.ts';
import type { Cluster } from '../state/cluster.ts';
import { delayText, exceededLimitText, placedBoundText, timeLimitText } from './explanation-text.ts';
import {
  diagnose,
  diagnoseElastic,
  type Failure,
  isAlike,
  type UnplaceableService,
} from './placement-diagnosis.ts';
import { serviceSteps } from './service-steps.ts';
import { type StartDemand, startDemandOf } from './start-demand.ts';

export interface Explanation {
  /** Null for an application that was not submitted. */
  status: ExecutionStatus | null;
  /** The state in a sentence. */
  summary: string;
  /** Position in the queue, counted from 1. */
  position: number | null;
  queueLength: number | null;
  /** Sentences for people: all that the execution waits for, and what would change that. */
  waitingFor: string[];
  reasons: Reason[];
  quota: QuotaReason[];
  /** What the start of a queued execution requires. */
  demand: StartDemand | null;
  /** An execution that has waited longer, if the capacity reserved for it is all that is missing. */
  backfillReservedFor: number | null;
  /** The next attempt after a start that failed temporarily. */
  retryAtMs: number | null;
  /** For a queued execution: whether hosts and quota would have capacity for it if nothing else ran. */
  fitsWhenIdle: boolean | null;
  /**
   * For a queued execution: the hosts of its essential services if it were placed now; null if hosts or
   * quota prevent that.
   */
  placement: HostPlacement[] | null;
}

/**
 * A filter that hosts fail for services with the same requirement. `instance` is the first of `instances`
 * services.
 */
export type Reason = Failure & { instance: string; instances: number };
export type QuotaReason = ExceededLimit & { text: string };

export interface HostPlacement {
  host: string;
  instances: string[];
}

/** Explains an execution that has not ended; null if it has. Throws `not-found` if it was deleted. */
export function explainLive(cluster: Cluster, executionId: number, nowMs: number): Explanation | null {
  const execution = cluster.executions.get(executionId);
  if (execution?.deleted) throw noSuchExecution();
  if (execution?.status === 'queued' && !isLoaded(execution))
    throw new OperationError('unavailable', 'The execution is changing; try again.');
  return execution ? explain(cluster, execution, nowMs) : null;
}

/**
 * Explains a live execution, whose services must be in memory. The last turn must have decided all that could
 * be decided.
 */
export function explain(cluster: Cluster, execution: Execution, nowMs: number): Explanation {
  if (execution.status === 'queued') return explainQueued(cluster, execution, nowMs);
  return explainStarted(cluster, execution, nowMs);
}

/** Explains what would happen to an execution if it were submitted now. */
export function explainSubmission(cluster: Cluster, execution: Execution, nowMs: number): Explanation {
  const explained = explainQueued(cluster, execution, nowMs);
  const summary = explained.placement
    ? 'It would start at once.'
    : `It would wait as number ${explained.position} of ${explained.queueLength} in the queue.`;
  return { ...explained, status: null, summary };
}

/** Explains an execution that has ended. */
export function explainEnd({
  status,
  errorMessage,
}: Pick<Execution, 'status' | 'errorMessage'>): Explanation {
  const summary =
    status === 'error' ? `It ended with an error: ${errorMessage}` : 'It has ended: terminated.';
  return { ...NOTHING, status, summary };
}

const NOTHING = {
  position: null,
  queueLength: null,
  waitingFor: [],
  reasons: [],
  quota: [],
  demand: null,
  backfillReservedFor: null,
  retryAtMs: null,
  fitsWhenIdle: null,
  placement: null,
};

/**
 * Explains waiting executions that are chosen by the order of the queue. One whose services are not in memory
 * has no explanation yet.
 */
export function explainQueue(
  cluster: Cluster,
  choose: (order: readonly Execution[]) => readonly Execution[],
  nowMs: number,
): { execution: Execution; waitingFor: string[] }[] {
  const order = cluster.queue.projectedOrder((id) => cluster.fairShareKey(id));
  return choose(order).map((execution) => ({
    execution,
    waitingFor: isLoaded(execution) ? explainQueued(cluster, execution, nowMs, order).waitingFor : [],
  }));
}

function explainQueued(
  cluster: Cluster,
  execution: Execution,
  nowMs: number,
  order = orderWith(cluster, execution),
): Explanation {
  const { userId, demand } = execution;
  const usage = demand.usage(cluster.schedulerConfig.defaultMemoryBytes);
  const own = victimsForQuota(cluster, execution, demand);
  const bound = exceededPlacedBound(cluster, weightOf(execution));
  const exceeded = own ? [] : cluster.exceededBy(userId, demand);
  const quota = [...exceeded.map(quotaReason), ...boundReasons(bound, essentialServices(execution).length)];
  const { placements, unplaceable, backfillReservedFor } = diagnose(cluster, execution, own ?? []);
  const reasons = unplaceable.flatMap(reasonsOf);
  const fitsHosts = unplaceable.length === 0 || isFeasible(cluster, execution, demand);
  const fitsLater = !fitsHosts && isFeasibleLater(cluster, execution, demand);
  const fitsQuota = cluster.exceededLimits(userId, usage, noUsage()).length === 0;
  const fitsBound = exceededPlacedBound(cluster, weightOf(execution), 0) === null;
  const position = 1 + order.findIndex(({ id }) => id === execution.id);
  return {
    status: execution.status,
    summary: `It is number ${position} of ${order.length} in the queue.${timeLimitText(execution, nowMs)}`,
    position,
    queueLength: order.length,
    waitingFor: [
      ...texts(quota),
      ...texts(reasons),
      ...remedies(unplaceable, { fitsHosts, fitsLater, backfillReservedFor }),
      ...retries(execution, nowMs),
    ],
    reasons,
    quota,
    demand: startDemandOf(demand, usage),
    backfillReservedFor,
    retryAtMs: execution.retryAtMs,
    fitsWhenIdle: fitsHosts && fitsQuota && fitsBound,
    placement: placements && own && !bound ? byHost(placements) : null,
  };
}

const isFeasible = (cluster: Cluster, execution: Execution, demand: ResourceDemand): boolean =>
  cluster.feasibility.isFeasible(execution, demand, cluster.hosts, cluster.hostIndex.version);

/** The same if all hosts were connected and took new services. */
const isFeasibleLater = (cluster: Cluster, execution: Execution, demand: ResourceDemand): boolean =>
  [...cluster.hosts.values()].some((host) => !isUsable(host)) &&
  cluster.feasibilityLater.isFeasible(
    execution,
    demand,
    cluster.hosts,
    cluster.hostIndex.version,
    (host) => ({
      ...host,
      connected: true,
      lost: false,
      schedulable: true,
      conditions: host.conditions.filter(({ kind }) => !blockingConditions.has(kind)),
    }),
  );

/** The queue as if the execution were in it. */
const orderWith = (cluster: Cluster, execution: Execution): Execution[] =>
  cluster.queue.projectedOrder(
    (id) => cluster.fairShareKey(id),
    cluster.queue.has(execution) ? undefined : execution,
  );

/** Whether waiting helps services that find no host. */
function remedies(
  unplaceable: readonly UnplaceableService[],
  {
    fitsHosts,
    fitsLater,
    backfillReservedFor,
  }: { fitsHosts: boolean; fitsLater: boolean; backfillReservedFor: number | null },
): string[] {
  if (unplaceable.length === 0) return [];
  if (fitsLater) return ['It would fit if hosts that take no new services now did.'];
  if (!fitsHosts) return ['Waiting alone is not enough: it would not fit even if nothing else ran.'];
  return [
    ...(backfillReservedFor === null
      ? []
      : [
          `It would fit if no capacity were reserved for execution ${backfillReservedFor}, which has waited longer.`,
        ]),
    'Waiting is enough: it fits when enough running services have ended.',
  ];
}

const reasonsOf = (unplaceableService: UnplaceableService): Reason[] =>
  unplaceableService.failures.map((failure) => ({
    ...failure,
    instance: unplaceableService.service.name,
    instances: unplaceableService.instances,
  }));

const quotaReason = (limit: ExceededLimit): QuotaReason => ({ ...limit, text: exceededLimitText(limit) });

/** `instances` is how many the start places: it may count as more (C173). */
const boundReasons = (bound: ExceededLimit | null, instances: number): QuotaReason[] =>
  bound ? [{ ...bound, text: placedBoundText(bound, instances) }] : [];

/** Each sentence once, since outages of hosts are the same for all services. */
const texts = (reasons: readonly { text: string }[]): string[] => [
  ...new Set(reasons.map(({ text }) => text)),
];

function retries({ retryAtMs, attempts, services }: Execution, nowMs: number): string[] {
  if (retryAtMs === null || retryAtMs <= nowMs) return [];
  const failed = services.find(({ errorMessage }) => errorMessage !== null);
  const why = failed ? ` (service ${failed.name}: ${failed.errorMessage})` : '';
  return [`${count(attempts, 'start')} failed${why}; the next attempt is ${delayText(retryAtMs - nowMs)}.`];
}

function byHost(placements: readonly Placement<Service>[]): HostPlacement[] {
  const sorted = placements.toSorted((a, b) => a.service.id - b.service.id);
  return Array.from(
    Map.groupBy(sorted, ({ host }) => host.name),
    ([host, placed]) => ({ host, instances: placed.map(({ service }) => service.name) }),
  );
}

function explainStarted(cluster: Cluster, execution: Execution, nowMs: number): Explanation {
  const elastic =
    execution.status === 'running' ? explainElastic(cluster, execution, nowMs) : { reasons: [], quota: [] };
  return {
    ...NOTHING,
    ...elastic,
    status: execution.status,
    summary: summaryOf(execution) + timeLimitText(execution, nowMs),
    waitingFor: [
      ...serviceSteps(cluster, execution, nowMs),
      ...texts(elastic.quota),
      ...texts(elastic.reasons),
    ],
  };
}

/**
 * Explains the elastic services that have no host. They are placed one by one, so one explanation serves all
 * with the same requirement.
 */
function explainElastic(
  cluster: Cluster,
  { services, userId }: Execution,
  nowMs: number,
): Pick<Explanation, 'reasons' | 'quota'> {
  const waiting = services.filter(
    ({ essential, placed, status, restartAtMs }) =>
      !essential && !placed && status === 'inactive' && (restartAtMs ?? 0) <= nowMs,
  );
  const first = waiting.filter((service, at) => waiting.findIndex((other) => isAlike(other, service)) === at);
  const unplaceable = first.flatMap((service) => {
    const { length: instances } = waiting.filter((other) => isAlike(other, service));
    return diagnoseElastic(cluster, service, instances) ?? [];
  });
  const demands = first.map((service) => demandOf([service], 0));
  const bound = demands
    .map((demand) => exceededPlacedBound(cluster, demand.weight))
    .find((one) => one !== null);
  const over = demands.flatMap((demand) => cluster.exceededBy(userId, demand));
  return {
    reasons: unplaceable.flatMap(reasonsOf),
    quota: [...over.map(quotaReason), ...boundReasons(bound ?? null, 1)],
  };
}

function summaryOf(execution: Execution): string {
  const { status, ending } = execution;
  if (ending) return endingText(ending);
  if (status === 'running') return 'All its essential services have started.';
  const essential = essentialServices(execution);
  const active = essential.filter((service) => service.status === 'active').length;
  const verb = active === 1 || essential.length === 1 ? 'is' : 'are';
  return `${active} of ${count(essential.length, 'essential service')} ${verb} active.`;
}

function endingText({ status, message, moving }: Ending): string {
  if (status === 'terminated') return 'It ends as terminated when its containers are gone.';
  if (status === 'error') return `It ends with an error when its containers are gone: ${message}`;
  if (moving) return `It moves (${message}): it goes back to the queue when its containers are gone.`;
  return `Its start failed (${message}): it goes back to the queue when its containers are gone.`;
}
