/**
 * Decides what happens next. `decide` has the whole life of an execution in one place; `reconcile` applies
 * decisions until none follows. No I/O, no clock, no randomness: the same state and time give the same
 * decisions. Changes the cluster in place, because it may hold 100,000 executions; a caller whose commit
 * fails discards the cluster.
 */
import { livenessDeadlineMs, missedItsDeadline, restartTimeout } from '../hosts/host-liveness.ts';
import { backoffMs, type Ending, type Execution, isEnded, isLoaded } from '../model/execution.ts';
import {
  describeExit,
  hasExceededRestarts,
  hasFinished,
  isAssigned,
  isPreempted,
  recentDeaths,
  restartPolicyOf,
  type Service,
} from '../model/service.ts';
import { count, periodText } from '../model/text.ts';
import { endingByTime, timeLimitMs } from '../model/time-limit.ts';
import { updateReservation } from '../scheduling/backfill-reservation.ts';
import type { Loading, SchedulingActions } from '../scheduling/scheduler-state.ts';
import { hasCandidates, runSchedulingPass } from '../scheduling/scheduling-pass.ts';
import type { Cluster } from '../state/cluster.ts';
import type { Decision } from '../state/decision.ts';
import { updateQueues } from '../state/queue-membership.ts';
import { apply } from './state-transitions.ts';

/** `reconciling` on a cluster with all services in memory. */
export function reconcile(cluster: Cluster, nowMs: number): Decision[] {
  const step = reconciling(cluster, nowMs).next();
  if (step.done) return step.value;
  throw new Error(`the services of execution ${step.value[0]?.id} are not in memory`);
}

/**
 * Decides and applies all that follows from the state at `nowMs`. Returns the decisions in order. Yields
 * executions whose services it needs; the caller loads them before it continues, and changes nothing else.
 */
export function* reconciling(cluster: Cluster, nowMs: number): Loading<Decision[]> {
  const decisions: Decision[] = [];
  const carryOut = (decision: Decision) => {
    apply(cluster, decision, nowMs);
    decisions.push(decision);
  };
  const actions: SchedulingActions = {
    place: (execution, placements) => carryOut({ kind: 'place', execution, placements }),
    preempt: (service) => carryOut({ kind: 'preempt', service }),
  };
  watchHosts(cluster, nowMs, carryOut);
  for (const id of cluster.deadlines.take(nowMs)) cluster.dirty.add(id);
  do {
    const ids = [...cluster.dirty];
    cluster.dirty.clear();
    const missing = withoutServices(cluster, ids);
    if (missing.length > 0) yield missing;
    for (const id of ids) {
      const execution = cluster.executions.get(id);
      if (execution) settle(cluster, execution, nowMs, carryOut);
    }
    yield* runSchedulingPass(cluster, actions);
    if (cluster.dirty.size === 0 && !hasCandidates(cluster)) updateReservation(cluster, nowMs);
  } while (cluster.dirty.size > 0 || hasCandidates(cluster));
  return decisions;
}

function watchHosts(cluster: Cluster, nowMs: number, carryOut: (decision: Decision) => void): void {
  for (const host of cluster.hosts.values()) {
    // The agent may need the whole second timeout to stop its containers: a clock step must not shorten it.
    if (host.lost && missedItsDeadline(cluster, host, nowMs)) restartTimeout(cluster, host, nowMs);
    else if (nowMs >= livenessDeadlineMs(cluster, host))
      carryOut({ kind: host.lost ? 'requeue-host' : 'lose-host', host });
  }
  indexHosts(cluster);
}

/** Lets placement see the hosts as this turn has changed them. */
export function indexHosts({ changes, hosts, hostIndex }: Cluster): void {
  // Placed services change the index themselves.
  const haveChanged = changes.hosts.size > 0 || changes.conditions.size > 0 || hostIndex.size < hosts.size;
  if (haveChanged) for (const host of hosts.values()) hostIndex.update(host);
}

/** Executions that lack their services, by which alone the logs of earlier starts can be removed. */
function withoutServices({ executions }: Cluster, ids: readonly number[]): Execution[] {
  const found: Execution[] = [];
  for (const id of ids) {
    const execution = executions.get(id);
    if (execution?.deleted && execution.hasServiceRows && !isLoaded(execution)) found.push(execution);
  }
  return found;
}

/**
 * When the passing of time alone leads to the next decision, or null. It may be in the past if the last turn
 * was long ago.
 */
export function nextDeadline(cluster: Cluster): number | null {
  const known = [cluster.deadlines.next(), cluster.reservation?.dueMs ?? null].filter(
    (time) => time !== null,
  );
  let next = Math.min(...known, Number.POSITIVE_INFINITY);
  for (const host of cluster.hosts.values()) next = Math.min(next, livenessDeadlineMs(cluster, host));
  return next === Number.POSITIVE_INFINITY ? null : next;
}

/** Applies decisions on one execution until none follows. */
function settle(
  cluster: Cluster,
  execution: Execution,
  nowMs: number,
  carryOut: (decision: Decision) => void,
): void {
  // The last decision on an execution, `finish` or `purge`, drops it.
  while (cluster.executions.has(execution.id)) {
    const decision = decide(cluster, execution, nowMs);
    if (!decision) break;
    carryOut(decision);
  }
  if (!cluster.executions.has(execution.id)) return;
  updateQueues(cluster, execution, nowMs);
  const setDeadline = (timeMs: number | null) => {
    if (timeMs !== null && timeMs > nowMs) cluster.deadlines.set(execution.id, timeMs);
  };
  setDeadline(execution.retryAtMs);
  if (execution.ending === null) setDeadline(timeLimitMs(execution));
  for (const { restartAtMs } of execution.services) setDeadline(restartAtMs);
}

/** The next decision on an execution, except for its placement, which depends on all others. */
function decide(cluster: Cluster, execution: Execution, nowMs: number): Decision | null {
  if (isEnded(execution)) return execution.deleted ? decideDeletion(cluster, execution) : null;
  if (execution.ending === null) {
    const { ending, cause } = endingOf(execution, nowMs);
    // What failed at once after its start has run.
    if (ending?.status === 'error' && execution.status === 'starting' && hasStarted(execution))
      return { kind: 'mark-running', execution };
    if (ending) return { kind: 'begin-cleanup', execution, ending, ...(cause && { cause }) };
  }
  for (const service of execution.services) {
    if (mustMove(cluster, execution, service)) return { kind: 'evict', service };
    if (isAssigned(service) && (execution.ending || service.exit || service.failure || isPreempted(service)))
      return { kind: 'stop', service };
  }
  if (execution.ending) {
    const clean = execution.services.every(({ status }) => status === 'inactive');
    return clean ? { kind: 'finish', execution, ending: execution.ending } : null;
  }
  if (execution.status === 'starting') {
    if (execution.services.every((service) => !service.essential || hasRun(service)))
      return { kind: 'mark-running', execution };
  }
  return nextServiceStep(cluster, execution, nowMs);
}

/**
 * True for an elastic service on a drained host. One that has ended, or is ending, releases its capacity
 * anyway.
 */
function mustMove(cluster: Cluster, { ending }: Execution, service: Service): boolean {
  if (!service.placed || service.essential || ending || service.exit || service.failure) return false;
  return service.status !== 'terminating' && cluster.hosts.get(service.hostId ?? 0)?.schedulable === false;
}

/**
 * A deleted execution that has ended is purged once its hosts have removed its logs. Logs on removed hosts
 * are gone.
 */
function decideDeletion({ hosts }: Cluster, execution: Execution): Decision | null {
  const withLogs = execution.services.filter(
    ({ generation, hostId, logs }) => generation > 0 && logs !== 'forgotten' && hosts.has(hostId ?? 0),
  );
  const kept = withLogs.find(({ logs }) => logs === 'kept');
  if (kept) return { kind: 'forget', service: kept };
  return withLogs.length === 0 ? { kind: 'purge', execution } : null;
}

/** `cause`: the service whose end decides that of the execution. */
interface End {
  ending: Ending | null;
  cause?: Service;
}

/**
 * The reason to end, if there is one. A deleted execution ends in any state. Monitor services decide the end
 * once everything has started. What a service has done counts before the time limit.
 */
function endingOf(execution: Execution, nowMs: number): End {
  const { deleted, status, services } = execution;
  if (deleted) return { ending: TERMINATED };
  if (status !== 'starting' && status !== 'running') return { ending: null };
  for (const service of services) {
    const { failure, exit, name } = service;
    const ended = (ending: Ending): End => ({ ending, cause: service });
    if (failure && !failure.temporary) return ended(error(`service ${name}: ${failure.message}`));
    if (failure && status === 'starting')
      return { ending: { status: 'queued', message: `service ${name}: ${failure.message}` } };
    if (exit && hasFinished(service)) {
      // A clean end waits until all other services have started: only then has the execution run.
      if (exit.code !== 0) return ended(error(describeExit(service, exit)));
      if (status === 'running') return ended(TERMINATED);
    }
    if (hasExceededRestarts(service, nowMs)) return ended(error(tooManyDeaths(service)));
  }
  return { ending: endingByTime(execution, nowMs) };
}

const TERMINATED: Ending = { status: 'terminated', message: null };

const error = (message: string): Ending => ({ status: 'error', message });

function tooManyDeaths(service: Service): string {
  const { attempts, windowMs } = restartPolicyOf(service);
  const last = service.errorMessage ?? 'it ended with exit code 0';
  if (attempts === 0)
    return `service ${service.name} died, and its restart policy allows no restart: ${last}`;
  return `service ${service.name} died more than ${count(attempts, 'time')} in ${periodText(windowMs)}; the last time: ${last}`;
}

/** Starts services in start-up order, and restarts those that died. */
function nextServiceStep(cluster: Cluster, execution: Execution, nowMs: number): Decision | null {
  for (const service of execution.services) {
    if (service.status !== 'inactive' || !service.placed) continue;
    // A monitor that ended cleanly during the start is not restarted; the execution ends once all others have
    // started.
    if (hasFinished(service)) continue;
    if (service.exit || service.failure) {
      return { kind: 'replace-service', service, restartAtMs: nowMs + delayMsOf(cluster, service, nowMs) };
    }
    const { hostId, restartAtMs } = service;
    // A preempted or evicted service uses its former capacity until its container is gone (SCHED-4).
    if (hostId === null || cluster.hasDepartingContainers(hostId)) continue;
    if (restartAtMs !== null ? restartAtMs <= nowMs : isTurnOf(service, execution)) {
      return { kind: 'start', service };
    }
  }
  return null;
}

/** A start that failed is tried again ever later, whatever the restart policy: the cause is outside. */
function delayMsOf({ failedStarts }: Cluster, service: Service, nowMs: number): number {
  if (service.failure) return backoffMs(failedStarts.get(service) ?? 1);
  const { delayMs } = restartPolicyOf(service);
  return delayMs ?? backoffMs(Math.max(1, recentDeaths(service, nowMs).length));
}

/** True once the essential services of all lower start-up orders have started. */
const isTurnOf = ({ startupOrder }: Service, { services }: Execution): boolean =>
  services.every((other) => !other.essential || other.startupOrder >= startupOrder || hasRun(other));

const hasStarted = ({ services }: Execution): boolean =>
  services.every((service) => !service.essential || (hasRun(service) && !service.failure));

/**
 * Whether those that start later need not wait for the service. One whose health is checked must be healthy,
 * or be a monitor that has ended well.
 */
const hasRun = (service: Service): boolean => {
  const { status, exit, isChecked, monitor, deathsMs } = service;
  if (status === 'active') return true;
  return isChecked ? monitor && exit?.code === 0 : exit !== null || deathsMs.length > 0;
};
