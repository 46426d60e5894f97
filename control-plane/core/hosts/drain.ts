/**
 * Owns what an administrator does to a host, and what becomes of the services of one that is left: executions go back to
 * the queue with all their services, once the containers on hosts that can be asked are gone. Pure.
 */

import { type Execution, isEnded } from '../model/execution.ts';
import { type Host, setLabels } from '../model/host.ts';
import type { Service } from '../model/service.ts';
import type { Cluster } from '../state/cluster.ts';

/** What is left out stays as it is. */
export interface HostChanges {
  schedulable?: boolean | undefined;
  /** The administrator's own, besides those of the agent. */
  labels?: readonly string[] | undefined;
  /** Essential services do not stay on a drained host, either. */
  force?: boolean | undefined;
}

/** Elastic services leave a drained host in the next turn (reconcile.ts). Returns what goes back to the queue. */
export function changeHost(cluster: Cluster, host: Host, changes: HostChanges): Execution[] {
  const { schedulable = host.schedulable, labels, force = false } = changes;
  host.schedulable = schedulable;
  if (labels) setLabels(host, { adminLabels: labels });
  cluster.changes.hosts.add(host);
  for (const { executionId } of cluster.servicesAt(host.id)) cluster.dirty.add(executionId);
  return force && !schedulable ? requeueFrom(cluster, host, `host ${host.name} is drained`) : [];
}

/** Services that are placed on the host, or whose containers may still be there. */
export const servicesLeftAt = (cluster: Cluster, host: Host): Service[] =>
  [...cluster.servicesAt(host.id)].filter(({ placed, status }) => placed || status !== 'inactive');

/** Puts each execution that has essential services on the host back in the queue; `reason` is a sentence's end. Returns them. */
export function requeueFrom(cluster: Cluster, host: Host, reason: string): Execution[] {
  const executions = new Set<Execution>();
  for (const { essential, placed, executionId } of cluster.servicesAt(host.id)) {
    const execution = cluster.executions.get(executionId);
    if (essential && placed && execution) executions.add(execution);
  }
  return [...executions].filter((execution) => requeue(cluster, execution, reason));
}

/** Not for a failed start: it is tried again at once, and counts as no attempt. False where another end is decided. */
function requeue(cluster: Cluster, execution: Execution, message: string): boolean {
  if (execution.ending || execution.deleted || isEnded(execution)) return false;
  execution.ending = { status: 'queued', message, moving: true };
  cluster.touch(execution);
  return true;
}

/** What a lost host ran counts as gone; the host stays, and comes back with its next hello. */
export function releaseLostHost(cluster: Cluster, host: Host): void {
  requeueFrom(cluster, host, `host ${host.name} was lost`);
  for (const service of [...cluster.servicesAt(host.id)]) countAsGone(cluster, service);
  host.silentSinceMs = null;
  cluster.changes.hosts.add(host);
}

/** The agent has stopped the container by itself, as its lease wants: the execution starts again. */
export function requeueLapsed(cluster: Cluster, host: Host, service: Service): void {
  const execution = cluster.executions.get(service.executionId);
  if (service.essential && execution) requeue(cluster, execution, `host ${host.name} was out of contact`);
  countAsGone(cluster, service);
}

/** No end and no death: an elastic one is placed again, an essential one waits for the end of its execution. */
export function countAsGone(cluster: Cluster, service: Service): void {
  if (service.status !== 'inactive') {
    service.status = 'inactive';
    service.backendStatus = 'undefined';
    service.preparing = '';
    cluster.touch(service);
  }
  if (!service.essential && !service.exit && !service.failure) cluster.release(service);
  // Its logs went with the host, if it is one of a deleted execution.
  cluster.dirty.add(service.executionId);
}
