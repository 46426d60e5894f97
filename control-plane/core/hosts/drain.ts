/**
 * Drain: changes that an administrator makes to a host, and the return of its executions to the queue. An
 * execution returns with all its services, once its containers on reachable hosts are gone (HOST-9 to
 * HOST-12). Pure.
 */

import { type Execution, isEnded } from '../model/execution.ts';
import { type Host, type HostOffer, setLabels } from '../model/host.ts';
import type { Service } from '../model/service.ts';
import { recordEnd } from '../model/service-history.ts';
import type { Cluster } from '../state/cluster.ts';
import { acceptOffer } from './agreement.ts';

/** Fields that are left out stay unchanged. */
export interface HostChanges {
  schedulable?: boolean | undefined;
  /** The administrator's labels, in addition to those of the agent. */
  labels?: readonly string[] | undefined;
  /** The pending offer, as the administrator has seen it. */
  accept?: HostOffer | undefined;
  /** With `schedulable: false`: moves essential services as well. */
  force?: boolean | undefined;
}

/**
 * Applies the changes, or throws OperationError before it applies any. Elastic services leave a drained host
 * in the next turn (lifecycle/reconciler.ts). Returns the executions that return to the queue.
 */
export function changeHost(cluster: Cluster, host: Host, changes: HostChanges): Execution[] {
  const { schedulable = host.schedulable, labels, accept, force = false } = changes;
  if (accept) acceptOffer(host, accept);
  host.schedulable = schedulable;
  if (labels) setLabels(host, { adminLabels: labels });
  cluster.changes.hosts.add(host);
  for (const { executionId } of cluster.servicesAt(host.id)) cluster.dirty.add(executionId);
  return force && !schedulable ? requeueFrom(cluster, host, `host ${host.name} is drained`) : [];
}

/** Services that are placed on the host, or whose containers may still be there. */
export const servicesLeftAt = (cluster: Cluster, host: Host): Service[] =>
  [...cluster.servicesAt(host.id)].filter(({ placed, status }) => placed || status !== 'inactive');

/**
 * Returns each execution with essential services on the host to the queue. `reason` is a clause for people.
 * Returns these executions.
 */
export function requeueFrom(cluster: Cluster, host: Host, reason: string): Execution[] {
  const executions = new Set<Execution>();
  for (const { essential, placed, executionId } of cluster.servicesAt(host.id)) {
    const execution = cluster.executions.get(executionId);
    if (essential && placed && execution) executions.add(execution);
  }
  return [...executions].filter((execution) => requeue(cluster, execution, reason));
}

/**
 * The execution is tried again at once, and this does not count as a failed start. False if another end is
 * decided.
 */
function requeue(cluster: Cluster, execution: Execution, message: string): boolean {
  if (execution.ending || execution.deleted || isEnded(execution)) return false;
  execution.ending = { status: 'queued', message, moving: true };
  cluster.touch(execution);
  return true;
}

/** The services of a lost host count as gone. The host stays, and becomes usable with its next hello. */
export function releaseLostHost(cluster: Cluster, host: Host, nowMs: number): void {
  const reason = `host ${host.name} was lost`;
  requeueFrom(cluster, host, reason);
  for (const service of [...cluster.servicesAt(host.id)]) countAsGone(cluster, service, reason, nowMs);
  host.silentSinceMs = null;
  cluster.changes.hosts.add(host);
}

/** The agent has stopped the container itself when its lease expired: the execution starts again. */
export function requeueLapsed(cluster: Cluster, host: Host, service: Service, nowMs: number): void {
  const reason = `host ${host.name} was out of contact`;
  const execution = cluster.executions.get(service.executionId);
  if (service.essential && execution) requeue(cluster, execution, reason);
  countAsGone(cluster, service, reason, nowMs);
}

/**
 * Neither an end nor a death: an elastic service is placed again, an essential one waits for the end of its
 * execution. `reason` is a clause for people.
 */
export function countAsGone(cluster: Cluster, service: Service, reason: string, nowMs: number): void {
  if (service.status !== 'inactive') {
    recordEnd(service, { reason }, nowMs);
    service.status = 'inactive';
    service.backendStatus = 'undefined';
    service.preparing = '';
    cluster.touch(service);
  }
  if (!service.essential && !service.exit && !service.failure) cluster.release(service);
  // If the execution is deleted, its logs are gone with the host, and it may be purged.
  cluster.dirty.add(service.executionId);
}
