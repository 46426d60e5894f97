/**
 * State transitions: the changes that each decision, each request of a user and each adopted start makes to
 * the state. Pure.
 */

import { releaseLostHost } from '../hosts/drain.ts';
import { OperationError } from '../model/errors.ts';
import { backoffMs, type Ending, type Execution, isEnded } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { Service } from '../model/service.ts';
import { recordCause, recordStart } from '../model/service-history.ts';
import { assertLimitAllowed, type TimeLimits } from '../model/time-limit.ts';
import type { Placement } from '../scheduling/gang-placement.ts';
import type { Cluster } from '../state/cluster.ts';
import type { Decision } from '../state/decision.ts';

/** Applies a decision to the state, and marks the rows to write. */
export function apply(cluster: Cluster, decision: Decision, nowMs: number): void {
  switch (decision.kind) {
    case 'place':
      place(cluster, decision.execution, decision.placements, nowMs);
      break;
    case 'start':
      startGeneration(cluster, decision.service, decision.service.generation + 1, nowMs);
      break;
    case 'mark-running':
      markRunning(cluster, decision.execution, nowMs);
      break;
    case 'stop':
      decision.service.status = 'terminating';
      decision.service.preparing = '';
      cluster.touch(decision.service);
      break;
    case 'replace-service':
      replace(cluster, decision.service, decision.restartAtMs);
      break;
    case 'preempt':
    case 'evict':
      cluster.release(decision.service);
      break;
    case 'begin-cleanup':
      if (decision.cause) recordCause(decision.cause);
      beginCleanup(cluster, decision.execution, decision.ending, nowMs);
      break;
    case 'finish':
      finish(cluster, decision.execution, decision.ending, nowMs);
      break;
    case 'forget':
      decision.service.logs = 'forgetting';
      break;
    case 'purge':
      cluster.changes.purged.add(decision.execution);
      cluster.dropExecution(decision.execution);
      break;
    case 'lose-host':
      loseHost(cluster, decision.host, nowMs);
      break;
    case 'requeue-host':
      releaseLostHost(cluster, decision.host, nowMs);
      break;
  }
}

/** A cleanup before another try is not an end. */
const isEndDecided = (execution: Execution): boolean =>
  isEnded(execution) || (execution.ending !== null && execution.ending.status !== 'queued');

/**
 * Decides the end that a user requested, unless an end is already decided. A start that would be tried again
 * ends with it.
 */
export function requestEnd(cluster: Cluster, execution: Execution, nowMs: number): void {
  if (isEndDecided(execution)) return;
  apply(
    cluster,
    { kind: 'begin-cleanup', execution, ending: { status: 'terminated', message: null } },
    nowMs,
  );
}

/**
 * Changes the time limit; null removes it. `quota` is undefined for those who may go beyond it. A limit that
 * is over already ends the execution in the same turn.
 */
export function changeTimeLimit(
  cluster: Cluster,
  execution: Execution,
  limitS: number | null,
  quota: TimeLimits | undefined,
): void {
  if (isEndDecided(execution))
    throw new OperationError('conflict', 'The execution has ended, or its end is decided.');
  if (quota) assertLimitAllowed(quota, limitS);
  execution.timeLimitS = limitS;
  cluster.touch(execution);
}

/** Hides the execution at once, and ends it if it has not ended. */
export function requestDeletion(cluster: Cluster, execution: Execution, nowMs: number): void {
  execution.deleted = true;
  cluster.changes.deleted.add(execution);
  requestEnd(cluster, execution, nowMs);
  cluster.touch(execution);
}

/** Deletes an ended execution that is not live: its logs on the hosts first, then its rows. */
export function deleteEnded(cluster: Cluster, execution: Execution, nowMs: number): void {
  cluster.addExecution(execution);
  requestDeletion(cluster, execution, nowMs);
}

/** Resets the service for the start of a generation on its host. */
export function startGeneration(cluster: Cluster, service: Service, generation: number, nowMs: number): void {
  recordStart(service, generation, cluster.hosts.get(service.hostId ?? 0)?.name ?? '', nowMs);
  service.status = 'starting';
  service.generation = generation;
  service.backendStatus = 'undefined';
  service.containerId = null;
  service.ipAddress = null;
  service.ports = [];
  service.exit = null;
  service.failure = null;
  service.restartAtMs = null;
  service.errorMessage = null;
  service.preparing = '';
  cluster.touch(service);
}

function place(
  cluster: Cluster,
  execution: Execution,
  placements: readonly Placement<Service>[],
  nowMs: number,
): void {
  for (const { service, host } of placements) cluster.place(service, host);
  if (execution.status !== 'queued') return;
  cluster.admit(execution);
  cluster.setStatus(execution, 'starting');
  execution.timePlaceMs = nowMs;
  execution.retryAtMs = null;
  cluster.touch(execution);
}

function markRunning(cluster: Cluster, execution: Execution, nowMs: number): void {
  cluster.setStatus(execution, 'running');
  execution.timeStartMs = Math.max(nowMs, execution.timeSubmitMs);
  cluster.touch(execution);
}

function replace(cluster: Cluster, service: Service, restartAtMs: number): void {
  service.exit = null;
  service.failure = null;
  service.restartAtMs = restartAtMs;
  // Other services may take its capacity meanwhile.
  if (!service.essential) cluster.release(service);
  cluster.touch(service);
}

function beginCleanup(cluster: Cluster, execution: Execution, ending: Ending, nowMs: number): void {
  execution.ending = ending;
  if (ending.status !== 'queued') {
    cluster.setStatus(execution, 'cleaning up');
    execution.timeStopMs = nowMs;
  }
  cluster.touch(execution);
}

function loseHost(cluster: Cluster, host: Host, nowMs: number): void {
  host.lost = true;
  host.silentSinceMs = nowMs;
  for (const service of cluster.servicesAt(host.id)) {
    if (!service.placed) continue;
    service.backendStatus = 'undefined';
    cluster.touch(service);
  }
  cluster.changes.hosts.add(host);
}

function finish(cluster: Cluster, execution: Execution, ending: Ending, nowMs: number): void {
  for (const service of execution.services) cluster.release(service);
  cluster.dismiss(execution);
  execution.ending = null;
  cluster.touch(execution);
  if (ending.status === 'queued') {
    cluster.setStatus(execution, 'queued');
    execution.timePlaceMs = null;
    execution.timeStartMs = null;
    if (!ending.moving) {
      execution.attempts += 1;
      execution.retryAtMs = nowMs + backoffMs(execution.attempts);
    }
    for (const service of execution.services) {
      service.exit = null;
      service.failure = null;
      service.restartAtMs = null;
      service.deathsMs = [];
      cluster.touch(service);
    }
    return;
  }
  cluster.setStatus(execution, ending.status);
  execution.errorMessage = ending.message;
  // The clock may have been set back meanwhile (C246).
  execution.timeEndMs = Math.max(nowMs, execution.timeStartMs ?? execution.timeSubmitMs);
  // A deleted execution stays until its logs are gone.
  if (!execution.deleted) cluster.dropExecution(execution);
}
