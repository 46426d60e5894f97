/**
 * Owns why an execution is where it is: what holds it in the queue, by the very functions that place it, and what it
 * waits for later on. Decides nothing and changes nothing. Pure.
 */

import { type ExceededLimit, noUsage } from '../accounts/quota.ts';
import { projectedRequeueMs } from '../hosts/host-liveness.ts';
import { type Ending, type Execution, type ExecutionStatus, essentialServices } from '../model/execution.ts';
import { type Host, isReachable } from '../model/host.ts';
import { isPreempted, type Service } from '../model/service.ts';
import { count, listText } from '../model/text.ts';
import type { Placement } from '../scheduling/gang-placement.ts';
import { victimsForQuota } from '../scheduling/preemption.ts';
import { demandOf, gangDemand, type ResourceDemand } from '../scheduling/resource-demand.ts';
import type { Cluster } from '../state/cluster.ts';
import { delayText, exceededLimitText } from './explanation-text.ts';
import {
  diagnose,
  diagnoseElastic,
  type Failure,
  isAlike,
  type UnplaceableService,
} from './placement-diagnosis.ts';

export interface Explanation {
  /** Null for what was not submitted. */
  status: ExecutionStatus | null;
  /** Where it is, in a sentence. */
  summary: string;
  /** Of those that may start as soon as there is room, itself among them: 1 is next. */
  position: number | null;
  queueLength: number | null;
  /** Sentences for people: all that holds it, and what would change that. Empty where nothing does. */
  waitingFor: string[];
  reasons: Reason[];
  quota: QuotaReason[];
  /** An execution that has waited longer, whose kept room is all that is lacking. */
  backfillReservedFor: number | null;
  /** Not started before, after a start that failed for a passing reason. */
  retryAtMs: number | null;
  /** Of what waits: whether hosts and quota had room for it, if nothing else ran. */
  fitsWhenIdle: boolean | null;
  /** Of what waits: where its essential services would go now, if nothing but time or the queue held it. */
  placement: HostPlacement[] | null;
}

/** A filter at which hosts fail services of the same needs; `instance` is the first of so many. */
export type Reason = Failure & { instance: string; instances: number };
export type QuotaReason = ExceededLimit & { text: string };

export interface HostPlacement {
  host: string;
  instances: string[];
}

/** Why a live execution is where it is, as of a turn that has decided all there was to decide. */
export function explain(cluster: Cluster, execution: Execution, nowMs: number): Explanation {
  if (execution.status === 'queued') return explainQueued(cluster, execution, nowMs);
  return explainStarted(cluster, execution, nowMs);
}

/** What would become of an execution, were it submitted now. */
export function explainSubmission(cluster: Cluster, execution: Execution, nowMs: number): Explanation {
  const explained = explainQueued(cluster, execution, nowMs);
  const summary = explained.placement
    ? 'It would start at once.'
    : `It would wait as number ${explained.position} of ${explained.queueLength} in the queue.`;
  return { ...explained, status: null, summary };
}

/** The reason of an end. */
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
  backfillReservedFor: null,
  retryAtMs: null,
  fitsWhenIdle: null,
  placement: null,
};

/** What holds those that would start first. */
export function explainHead(
  cluster: Cluster,
  most: number,
  nowMs: number,
): { execution: Execution; waitingFor: string[] }[] {
  const order = cluster.queue.projectedOrder((id) => cluster.fairShareKey(id));
  return order.slice(0, most).map((execution) => ({
    execution,
    waitingFor: explainQueued(cluster, execution, nowMs, order).waitingFor,
  }));
}

function explainQueued(
  cluster: Cluster,
  execution: Execution,
  nowMs: number,
  order = orderWith(cluster, execution),
): Explanation {
  const { userId } = execution;
  const needs = gangDemand(execution);
  const own = victimsForQuota(cluster, execution, needs);
  const quota = own ? [] : cluster.exceededLimits(userId, needs.usage).map(quotaReason);
  const { placements, unplaceable, backfillReservedFor } = diagnose(cluster, execution, own ?? []);
  const reasons = unplaceable.flatMap(reasonsOf);
  const fitsHosts = unplaceable.length === 0 || isFeasible(cluster, execution, needs);
  const fitsQuota = cluster.exceededLimits(userId, needs.usage, noUsage()).length === 0;
  const position = 1 + order.findIndex(({ id }) => id === execution.id);
  return {
    status: execution.status,
    summary: `It is number ${position} of ${order.length} in the queue.`,
    position,
    queueLength: order.length,
    waitingFor: [
      ...texts(quota),
      ...texts(reasons),
      ...remedies(unplaceable, fitsHosts, backfillReservedFor),
      ...retries(execution, nowMs),
    ],
    reasons,
    quota,
    backfillReservedFor,
    retryAtMs: execution.retryAtMs,
    fitsWhenIdle: fitsHosts && fitsQuota,
    placement: placements && own ? byHost(placements) : null,
  };
}

const isFeasible = (cluster: Cluster, execution: Execution, demand: ResourceDemand): boolean =>
  cluster.feasibility.isFeasible(execution, demand, cluster.hosts, cluster.hostIndex.version);

/** The queue as it would be with the execution in it. */
const orderWith = (cluster: Cluster, execution: Execution): Execution[] =>
  cluster.queue.projectedOrder(
    (id) => cluster.fairShareKey(id),
    cluster.queue.has(execution.id) ? undefined : execution,
  );

/** What becomes of misfits by waiting. */
function remedies(
  unplaceable: readonly UnplaceableService[],
  fitsHosts: boolean,
  backfillReservedFor: number | null,
): string[] {
  if (unplaceable.length === 0) return [];
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

const quotaReason = (excess: ExceededLimit): QuotaReason => ({ ...excess, text: exceededLimitText(excess) });

/** Each once: what hosts do is the same for all services. */
const texts = (reasons: readonly { text: string }[]): string[] => [
  ...new Set(reasons.map(({ text }) => text)),
];

function retries({ retryAtMs, attempts, services }: Execution, nowMs: number): string[] {
  if (retryAtMs === null || retryAtMs <= nowMs) return [];
  const failed = services.find(({ errorMessage }) => errorMessage !== null);
  const why = failed ? ` (service ${failed.name}: ${failed.errorMessage})` : '';
  return [`${count(attempts, 'start')} failed${why}; the next attempt is ${delayText(retryAtMs - nowMs)}.`];
}

function byHost(placements: readonly Placement[]): HostPlacement[] {
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
    summary: summaryOf(execution),
    waitingFor: [...stepsOf(cluster, execution, nowMs), ...texts(elastic.quota), ...texts(elastic.reasons)],
  };
}

/** What holds services beyond the essential ones, which are placed one by one: what holds one holds all like it. */
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
  const over = first.flatMap((service) => cluster.exceededLimits(userId, demandOf([service], 0).usage));
  return { reasons: unplaceable.flatMap(reasonsOf), quota: over.map(quotaReason) };
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

/** Sentences told at most. */
const MAX_STEPS = 20;

/** What services wait for, those that wait for the same in one sentence. */
function stepsOf(cluster: Cluster, execution: Execution, nowMs: number): string[] {
  const steps = execution.services.map((service) => ({
    name: service.name,
    text: stepOf(cluster, execution, service, nowMs),
  }));
  const alike = Map.groupBy(
    steps.filter(({ text }) => text !== null),
    ({ text }) => text,
  );
  const sentences = Array.from(
    alike,
    ([text, those]) => `${listText(those.map(({ name }) => name))}: ${text}.`,
  );
  const rest = sentences.length - MAX_STEPS;
  return rest > 0 ? [...sentences.slice(0, MAX_STEPS), `And ${rest} more like these.`] : sentences;
}

/** What has to happen next with a service; null where nothing has to. */
function stepOf(cluster: Cluster, { ending }: Execution, service: Service, nowMs: number): string | null {
  const { status, restartAtMs, preparing, backendStatus } = service;
  const host = cluster.hosts.get(service.hostId ?? 0);
  if (status === 'inactive') {
    if (ending || service.exit) return null;
    if (restartAtMs !== null && restartAtMs > nowMs) return `restarting ${delayText(restartAtMs - nowMs)}`;
    if (!service.placed) return null;
    if (host && cluster.hasDepartingContainers(host.id))
      return `waiting until the services that it preempts have left host ${host.name}`;
    return 'waiting for essential services that start earlier (lower startup_order)';
  }
  if (host && !isReachable(host)) return silenceText(cluster, host, nowMs);
  if (isPreempted(service))
    return host?.schedulable === false
      ? `leaving host ${host.name}, which is drained`
      : `giving its capacity on host ${host?.name} to others`;
  if (status === 'active') return null;
  if (status === 'terminating') return `being stopped on host ${host?.name}`;
  const progress = preparing === '' ? '' : ` (${preparing})`;
  return backendStatus === 'created'
    ? `being started on host ${host?.name}`
    : `being prepared on host ${host?.name}${progress}`;
}

function silenceText(cluster: Cluster, host: Host, nowMs: number): string {
  const requeueMs = projectedRequeueMs(cluster, host);
  if (requeueMs === null)
    return `on host ${host.name}, which is not connected; waiting for its agent to reconnect`;
  const silentS = Math.max(0, Math.round((nowMs - host.heardMs) / 1000));
  return `on host ${host.name}, which has been silent for ${silentS} s; waiting for its agent to reconnect, or to be started elsewhere ${delayText(requeueMs - nowMs)}`;
}
