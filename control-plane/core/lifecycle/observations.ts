/** Observations: what an agent's reports change in the state. The reconciler decides what follows. Pure. */
import { cutText, MAX_DETAIL_LENGTH } from '../../../shared/protocol/bounds.ts';
import type { Swarm } from '../../../shared/protocol/swarm.ts';
import type { Condition, HostFacts, HostUsage, Observation } from '../../../shared/protocol/up.ts';
import { applyOffer, offerOf } from '../hosts/agreement.ts';
import { requeueLapsed } from '../hosts/drain.ts';
import type { Host } from '../model/host.ts';
import {
  describeExit,
  type Failure,
  isAssigned,
  isPreempted,
  pausedText,
  recentDeaths,
  type Service,
} from '../model/service.ts';
import { type Exit, recordEnd, recordRun } from '../model/service-history.ts';
import type { Cluster } from '../state/cluster.ts';
import { adopt } from './restored-database.ts';

/**
 * Applies one observation of a host. It has no effect if it is about a service of another host, or an earlier
 * generation (P12).
 */
export function observe(cluster: Cluster, host: Host, observation: Observation, nowMs: number): void {
  const service = cluster.services.get(observation.service);
  if (!service || service.generation < observation.generation) cluster.changes.confirmsEpoch = true;
  if (!service || service.hostId !== host.id || service.generation !== observation.generation) return;
  if (service.status === 'inactive') return;
  switch (observation.state) {
    case 'preparing':
      service.preparing = cutText(observation.detail, MAX_DETAIL_LENGTH);
      cluster.changes.progressed.add(service);
      return;
    case 'created':
      if (service.containerId === observation.containerId && service.backendStatus !== 'undefined') return;
      service.containerId = observation.containerId;
      service.backendStatus = 'created';
      break;
    case 'running':
      if (!observeRunning(cluster, service, observation, nowMs)) return;
      break;
    case 'exited':
      if (service.exit && service.backendStatus === 'dead') return;
      service.containerId = observation.containerId;
      recordExit(cluster, service, exitOf(observation), nowMs);
      break;
    case 'failed':
      // The failure of a start that was already cancelled does not matter.
      if (service.failure || service.status === 'terminating') return;
      recordFailure(
        cluster,
        service,
        { temporary: observation.temporary, message: observation.message },
        nowMs,
      );
      break;
    case 'gone':
      if (observation.lapsed && isAssigned(service) && service.placed && !service.exit && !service.failure) {
        requeueLapsed(cluster, host, service, nowMs);
        break;
      }
      // Executions with services on the host may have waited for that.
      if (isPreempted(service))
        for (const { executionId } of cluster.servicesAt(host.id)) cluster.dirty.add(executionId);
      recordGone(cluster, service, nowMs);
      break;
  }
  cluster.touch(service);
}

/**
 * Applies a hello: the facts of the host, and its complete inventory. A service whose container was reported
 * before and is not in the inventory has lost that container (P5: the same key is never started again).
 */
export function welcomeHost(
  cluster: Cluster,
  host: Host,
  facts: HostFacts,
  inventory: readonly Observation[],
  nowMs: number,
): void {
  const { address, agentVersion, engineVersion } = facts;
  applyOffer(host, offerOf(facts));
  const contact = { silentSinceMs: null, lastContactMs: nowMs, heardMs: nowMs };
  Object.assign(host, { address, agentVersion, engineVersion, connected: true, lost: false, ...contact });
  cluster.changes.hosts.add(host);
  adopt(cluster, host, inventory, nowMs);
  for (const service of cluster.servicesAt(host.id)) {
    if (service.logs === 'forgetting') service.logs = 'kept';
    cluster.dirty.add(service.executionId);
  }
  for (const { id, generation } of vanishedFrom(cluster, host.id, inventory))
    observe(cluster, host, { state: 'gone', service: id, generation }, nowMs);
  for (const observation of inventory) observe(cluster, host, observation, nowMs);
}

/** True if a container that the host has reported before is not in its complete inventory. */
export const lacksContainers = (
  cluster: Cluster,
  hostId: number,
  inventory: readonly Observation[],
): boolean => vanishedFrom(cluster, hostId, inventory).length > 0;

function vanishedFrom(cluster: Cluster, hostId: number, inventory: readonly Observation[]): Service[] {
  const present = new Set<number>();
  for (const { service, generation } of inventory)
    if (cluster.services.get(service)?.generation === generation) present.add(service);
  return [...cluster.servicesAt(hostId)].filter((service) => {
    const missing = !present.has(service.id) && service.status !== 'inactive';
    const seen = service.containerId !== null || service.status === 'terminating';
    return missing && seen;
  });
}

/** Replaces the conditions of a host. True if their kinds have changed. */
export function observeConditions(host: Host, conditions: readonly Condition[]): boolean {
  const kindsOf = (of: readonly Condition[]) => of.map(({ kind }) => kind).join(' ');
  const haveChanged = kindsOf(conditions) !== kindsOf(host.conditions);
  host.conditions = conditions;
  return haveChanged;
}

/** Updates the usage of a host's containers. It is unknown while the engine does not answer. */
export function observeUsage(host: Host, usage: HostUsage | undefined): void {
  const isUnknown = host.conditions.some(({ kind }) => kind === 'no-engine');
  host.usage = isUnknown ? null : (usage ?? host.usage);
}

/** Replaces the swarm of a host. True if it has changed. */
export function observeSwarm(host: Host, swarm: Swarm | null): boolean {
  const hasChanged = JSON.stringify(swarm) !== JSON.stringify(host.swarm);
  host.swarm = swarm;
  return hasChanged;
}

/** Records that a host has removed the logs of a service. */
export function observeForgotten(cluster: Cluster, host: Host, serviceId: number): void {
  const service = cluster.services.get(serviceId);
  if (service?.hostId !== host.id || service.logs !== 'forgetting') return;
  service.logs = 'forgotten';
  cluster.touch(service);
}

type Running = Extract<Observation, { state: 'running' }>;

/** False if no row changes. */
function observeRunning(cluster: Cluster, service: Service, seen: Running, nowMs: number): boolean {
  const isKnown = service.backendStatus === 'started' && service.containerId === seen.containerId;
  if (!isKnown) {
    service.containerId = seen.containerId;
    service.ipAddress = seen.ipAddress;
    service.ports = seen.ports;
    service.backendStatus = 'started';
    recordRun(service, nowMs);
    cluster.failedStarts.delete(service);
  }
  const isPauseKnown = notePause(service, seen.paused === true);
  return observeHealth(cluster, service, seen.health, nowMs) || !isKnown || !isPauseKnown;
}

/** False if this has changed. */
function notePause(service: Service, isPaused: boolean): boolean {
  const text = pausedText(service);
  const wasPaused = service.errorMessage === text;
  if (isPaused && !service.exit && !service.failure) service.errorMessage = text;
  else if (wasPaused) service.errorMessage = null;
  return (service.errorMessage === text) === wasPaused;
}

function exitOf({
  exitCode: code,
  outOfMemory,
  memoryKill,
}: Extract<Observation, { state: 'exited' }>): Exit {
  return { code, outOfMemory, ...(memoryKill && { memoryKill }) };
}

/** A service whose health is checked is active once it is healthy. False if no row changes. */
function observeHealth(
  cluster: Cluster,
  service: Service,
  health: Running['health'],
  nowMs: number,
): boolean {
  if (!isAssigned(service) || service.exit || service.failure) return false;
  const isStarting = service.status === 'starting';
  if (service.isChecked && health?.state === 'unhealthy')
    return recordUnhealthy(service, health.detail, nowMs);
  if (!isStarting) return false;
  if (service.isChecked && !health) return false;
  if (service.isChecked && health?.state === 'starting') {
    service.preparing = cutText(health.detail, MAX_DETAIL_LENGTH);
    cluster.changes.progressed.add(service);
    return false;
  }
  service.status = 'active';
  return true;
}

/** The container still runs. It counts as ended all the same, and is stopped. */
function recordUnhealthy(service: Service, detail: string, nowMs: number): boolean {
  // A preempted or evicted service leaves anyway.
  if (isPreempted(service)) return false;
  service.exit = { code: null, outOfMemory: false, unhealthy: cutText(detail, MAX_DETAIL_LENGTH) };
  service.errorMessage = describeExit(service, service.exit);
  recordEnd(service, { exit: service.exit }, nowMs);
  recordDeath(service, nowMs);
  return true;
}

/** Why Berth stops the service; undefined if it does not. */
function stopReason({ executions, hosts }: Cluster, service: Service): string | undefined {
  const ending = executions.get(service.executionId)?.ending;
  if (ending) return ending.status === 'queued' ? `stopped: ${ending.message}` : 'stopped with its execution';
  const host = hosts.get(service.hostId ?? 0);
  if (!isPreempted(service)) return undefined;
  return host?.schedulable === false
    ? `stopped: host ${host.name} is drained`
    : 'preempted for an execution that waited';
}

/** A requested end is not a death. */
function recordExit(cluster: Cluster, service: Service, exit: Exit, nowMs: number): void {
  service.backendStatus = 'dead';
  recordEnd(service, { exit, reason: stopReason(cluster, service) }, nowMs);
  notePause(service, false);
  // A preempted or evicted service comes back: this was not its end.
  if (service.exit || isPreempted(service)) return;
  service.exit = exit;
  if (service.status === 'terminating') return;
  if (exit.code !== 0) service.errorMessage = describeExit(service, exit);
  recordDeath(service, nowMs);
}

/** A start that is only to be tried again is not a death. */
function recordFailure(cluster: Cluster, service: Service, failure: Failure, nowMs: number): void {
  service.failure = failure;
  service.errorMessage = failure.message;
  recordEnd(service, { reason: failure.message }, nowMs);
  const isRunning = cluster.executions.get(service.executionId)?.status === 'running';
  if (failure.temporary && isRunning) {
    cluster.failedStarts.set(service, (cluster.failedStarts.get(service) ?? 0) + 1);
    return;
  }
  recordDeath(service, nowMs);
}

/** As many as any policy counts. */
const MAX_DEATHS = 101;

/** Drops deaths that are too old, or too many, to count. */
function recordDeath(service: Service, nowMs: number): void {
  service.deathsMs = [...recentDeaths(service, nowMs), nowMs].slice(-MAX_DEATHS);
}

/** The container is gone: as requested or, if it should still run, as an end without an exit code. */
function recordGone(cluster: Cluster, service: Service, nowMs: number): void {
  if (service.status !== 'terminating' && !service.exit && !service.failure) {
    recordExit(cluster, service, { code: null, outOfMemory: false }, nowMs);
  }
  recordEnd(service, { reason: stopReason(cluster, service) }, nowMs);
  notePause(service, false);
  service.status = 'inactive';
  service.backendStatus = 'destroyed';
}
