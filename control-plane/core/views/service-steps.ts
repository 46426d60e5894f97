/** What the services of a started execution wait for, in sentences for people. Pure. */

import { projectedRequeueMs } from '../hosts/host-liveness.ts';
import type { Execution } from '../model/execution.ts';
import { type Host, isReachable } from '../model/host.ts';
import { isPreempted, pausedText, recentDeaths, type Service } from '../model/service.ts';
import { count, listText, periodText } from '../model/text.ts';
import type { Cluster } from '../state/cluster.ts';
import { delayText } from './explanation-text.ts';

/** Limit for the sentences about services. */
const MAX_STEPS = 20;

/** What each service waits for; services that wait for the same share a sentence. */
export function serviceSteps(cluster: Cluster, execution: Execution, nowMs: number): string[] {
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
    ([text, same]) => `${listText(same.map(({ name }) => name))}: ${text}.`,
  );
  const rest = sentences.length - MAX_STEPS;
  return rest > 0 ? [...sentences.slice(0, MAX_STEPS), `And ${rest} more like these.`] : sentences;
}

/** What must happen next with a service; null if nothing must. */
function stepOf(cluster: Cluster, { ending }: Execution, service: Service, nowMs: number): string | null {
  const { status, restartAtMs, preparing, backendStatus } = service;
  const host = cluster.hosts.get(service.hostId ?? 0);
  if (status === 'inactive') {
    if (ending || service.exit) return null;
    if (restartAtMs !== null && restartAtMs > nowMs)
      return `restarting ${delayText(restartAtMs - nowMs)}${deathsText(service, nowMs)}`;
    if (!service.placed) return null;
    if (host && cluster.hasDepartingContainers(host.id))
      return `waiting until preempted services have left host ${host.name}`;
    return 'waiting for essential services that start earlier (lower startup_order)';
  }
  if (host && !isReachable(host)) return silenceText(cluster, host, nowMs);
  if (isPreempted(service))
    return host?.schedulable === false
      ? `leaving host ${host.name}, which is drained`
      : `giving its capacity on host ${host?.name} to others`;
  if (status === 'active')
    return service.errorMessage === pausedText(service) ? 'paused from outside Berth' : null;
  const progress = preparing === '' ? '' : ` (${preparing})`;
  if (status === 'terminating') return `being stopped on host ${host?.name}${progress}`;
  if (backendStatus === 'started') {
    const found = preparing === '' ? 'no check has ended yet' : `last check: ${preparing}`;
    return `waiting until it is healthy on host ${host?.name} (${found})`;
  }
  return backendStatus === 'created'
    ? `being started on host ${host?.name}`
    : `being prepared on host ${host?.name}${progress}`;
}

/** Why a service is restarted that has a health check or a restart policy; empty for others. */
function deathsText(service: Service, nowMs: number): string {
  const { isChecked, restart, errorMessage, monitor, essential } = service;
  const why = isChecked && errorMessage !== null ? `, since ${errorMessage}` : '';
  if (restart === null || !(monitor || essential)) return why;
  const { attempts, windowMs } = restart;
  const deaths = recentDeaths(service, nowMs).length;
  return `${why} (${deaths} of ${count(attempts, 'restart')} in ${periodText(windowMs)})`;
}

function silenceText(cluster: Cluster, host: Host, nowMs: number): string {
  const requeueMs = projectedRequeueMs(cluster, host);
  if (requeueMs === null)
    return `on host ${host.name}, which is not connected; waiting for its agent to reconnect`;
  const silentS = Math.max(0, Math.round((nowMs - host.heardMs) / 1000));
  return `on host ${host.name}, which has been silent for ${silentS} s; waiting for its agent to reconnect, or to be started elsewhere ${delayText(requeueMs - nowMs)}`;
}
