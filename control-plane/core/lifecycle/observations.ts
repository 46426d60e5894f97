/** Owns what an agent's reports change in the state. Pure; what follows from it is reconcile's. */
import type { Condition, HostFacts, HostUsage, Observation } from '../../../shared/protocol/up.ts';
import { requeueLapsed } from '../hosts/drain.ts';
import { type Host, setLabels } from '../model/host.ts';
import {
  describeExit,
  type Exit,
  type Failure,
  isAssigned,
  isPreempted,
  recentDeaths,
  type Service,
} from '../model/service.ts';
import type { Cluster } from '../state/cluster.ts';
import { adopt } from './restored-database.ts';

/** Of what a host tells of the progress of a start; thousands of these are kept as events. */
const MAX_DETAIL_LENGTH = 500;

/** A copy of the beginning: a mere part of a long text keeps all of it in memory. */
const cut = (text: string): string =>
  text.length > MAX_DETAIL_LENGTH ? JSON.parse(JSON.stringify(text.slice(0, MAX_DETAIL_LENGTH))) : text;

/** Takes in one observation from a host. One of another host's service or of an earlier generation changes nothing (P12). */
export function observe(cluster: Cluster, host: Host, observation: Observation, nowMs: number): void {
  const service = cluster.services.get(observation.service);
  if (!service || service.hostId !== host.id || service.generation !== observation.generation) return;
  if (service.status === 'inactive') return;
  switch (observation.state) {
    case 'preparing':
      service.preparing = cut(observation.detail);
      cluster.changes.progressed.add(service);
      return;
    case 'created':
      if (service.containerId === observation.containerId && service.backendStatus !== 'undefined') return;
      service.containerId = observation.containerId;
      service.backendStatus = 'created';
      break;
    case 'running':
      if (service.backendStatus === 'started' && service.containerId === observation.containerId) return;
      service.containerId = observation.containerId;
      service.ipAddress = observation.ipAddress;
      service.ports = observation.ports;
      service.backendStatus = 'started';
      if (service.status === 'starting') service.status = 'active';
      break;
    case 'exited':
      if (service.exit && service.backendStatus === 'dead') return;
      service.containerId = observation.containerId;
      recordExit(service, { code: observation.exitCode, outOfMemory: observation.outOfMemory }, nowMs);
      break;
    case 'failed':
      // Of a start that is no longer wanted nobody needs to know.
      if (service.failure || service.status === 'terminating') return;
      recordFailure(service, { temporary: observation.temporary, message: observation.message }, nowMs);
      break;
    case 'gone':
      if (observation.lapsed && isAssigned(service) && service.placed && !service.exit && !service.failure) {
        requeueLapsed(cluster, host, service);
        break;
      }
      if (isPreempted(service)) cluster.wakeWaitingFor(host);
      recordGone(service, nowMs);
      break;
  }
  cluster.touch(service);
}

/**
 * Takes in a hello: the facts of the host, and its complete inventory. A service whose container was seen before and is
 * not in the inventory has lost it (P5: the same key is never started again).
 */
export function welcomeHost(
  cluster: Cluster,
  host: Host,
  facts: HostFacts,
  inventory: readonly Observation[],
  nowMs: number,
): void {
  const { name: _, labels: agentLabels, ...rest } = facts;
  setLabels(host, { agentLabels });
  const contact = { silentSinceMs: null, lastContactMs: nowMs, heardMs: nowMs };
  Object.assign(host, rest, { connected: true, lost: false, ...contact });
  cluster.changes.hosts.add(host);
  adopt(cluster, host, inventory);
  const present = new Set<number>();
  for (const observation of inventory) {
    const service = cluster.services.get(observation.service);
    if (service?.generation === observation.generation) present.add(observation.service);
  }
  for (const service of [...cluster.servicesAt(host.id)]) {
    if (service.logs === 'forgetting') service.logs = 'kept';
    cluster.dirty.add(service.executionId);
    const missing = !present.has(service.id) && service.status !== 'inactive';
    const seen = service.containerId !== null || service.status === 'terminating';
    if (missing && seen) {
      observe(cluster, host, { state: 'gone', service: service.id, generation: service.generation }, nowMs);
    }
  }
  for (const observation of inventory) observe(cluster, host, observation, nowMs);
}

/** Takes in what is wrong with a host; true where that is not of the kinds that it was. */
export function observeConditions(host: Host, conditions: readonly Condition[]): boolean {
  const kindsOf = (of: readonly Condition[]) => of.map(({ kind }) => kind).join(' ');
  const isNews = kindsOf(conditions) !== kindsOf(host.conditions);
  host.conditions = conditions;
  return isNews;
}

/** Takes in what the containers of a host use; nothing is known of it while its engine does not answer. */
export function observeUsage(host: Host, usage: HostUsage | undefined): void {
  const isBlind = host.conditions.some(({ kind }) => kind === 'no-engine');
  host.usage = isBlind ? null : (usage ?? host.usage);
}

/** Takes in that a host removed the logs of a service. */
export function observeForgotten(cluster: Cluster, host: Host, serviceId: number): void {
  const service = cluster.services.get(serviceId);
  if (service?.hostId !== host.id || service.logs !== 'forgetting') return;
  service.logs = 'forgotten';
  cluster.touch(service);
}

/** An end that was asked for is no death. */
function recordExit(service: Service, exit: Exit, nowMs: number): void {
  service.backendStatus = 'dead';
  // One that gave its room away comes back: this was not its end.
  if (service.exit || isPreempted(service)) return;
  service.exit = exit;
  if (service.status === 'terminating') return;
  if (exit.code !== 0) service.errorMessage = describeExit(service, exit);
  recordDeath(service, nowMs);
}

function recordFailure(service: Service, failure: Failure, nowMs: number): void {
  service.failure = failure;
  service.errorMessage = failure.message;
  recordDeath(service, nowMs);
}

/** Of those too long ago to count none is kept. */
function recordDeath(service: Service, nowMs: number): void {
  service.deathsMs = [...recentDeaths(service, nowMs), nowMs];
}

/** The container is gone: as wanted, or, where it was still to run, as an end without an exit code. */
function recordGone(service: Service, nowMs: number): void {
  if (service.status !== 'terminating' && !service.exit && !service.failure) {
    recordExit(service, { code: null, outOfMemory: false }, nowMs);
  }
  service.status = 'inactive';
  service.backendStatus = 'destroyed';
}
