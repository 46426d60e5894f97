/**
 * Owns what the changes of a turn mean to those who watch: an event for each execution, service and host that is other
 * than it was, as it is now. An event is a hint to look; what it does not tell is read as ever. Pure.
 */

import type { Execution, ExecutionStatus } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { BackendStatus, Service, ServiceStatus } from '../model/service.ts';
import type { Changes } from '../state/changes.ts';
import type { Cluster } from '../state/cluster.ts';
import { type HostState, hostStateOf } from '../views/host-view.ts';
import type { Subscriber } from './stream-subscriber.ts';

export type ClusterEvent = ExecutionEvent | ServiceEvent | HostEvent;

export interface ExecutionEvent {
  kind: 'execution';
  id: number;
  name: string;
  userId: number;
  userName: string;
  status: ExecutionStatus | 'deleted';
}

export interface ServiceEvent {
  kind: 'service';
  id: number;
  executionId: number;
  /** Owner of the execution. */
  userId: number;
  name: string;
  status: ServiceStatus;
  backendStatus: BackendStatus;
  /** What its host does towards its start; empty where nobody said. */
  progress: string;
}

export interface HostEvent {
  kind: 'host';
  id: number;
  name: string;
  state: HostState | 'removed';
}

/** What somebody may watch: the executions of a user or of all, and hosts or none. */
export interface Audience {
  userId: number;
  seesOthers: boolean;
  seesHosts: boolean;
}

/** Who opens a stream of events, and where it left off. */
export interface EventSubscriber extends Audience, Subscriber {
  /** Null where it has read none before. */
  lastEventId: string | null;
}

/** What a stream of events carries from the coordinator, one a line as JSON. `id` is where a reader goes on behind it. */
export interface EventFrame {
  id: string;
  /** `hello`: from here on nothing is missed. `reset`: something was. `beat`: nothing has happened. */
  event: ClusterEvent | { kind: 'hello' | 'reset' | 'beat' };
}

export const isFor = ({ userId, seesOthers, seesHosts }: Audience, event: ClusterEvent): boolean =>
  event.kind === 'host' ? seesHosts : seesOthers || event.userId === userId;

/** The events of one turn, each object once. A deletion is the last that is told of an execution. */
export function eventsOf(cluster: Cluster, changes: Changes): ClusterEvent[] {
  const executions = new Map<number, Execution>();
  for (const rows of [changes.newExecutions, changes.executions])
    for (const execution of rows) executions.set(execution.id, execution);
  const events: ClusterEvent[] = [];
  for (const execution of executions.values())
    if (!execution.deleted || changes.deleted.has(execution)) events.push(executionEvent(cluster, execution));
  for (const service of new Set([...changes.services, ...changes.progressed])) {
    // One that has ended is not live any more.
    const execution = executions.get(service.executionId) ?? cluster.executions.get(service.executionId);
    if (execution && !execution.deleted) events.push(serviceEvent(service, execution));
  }
  for (const host of changedHosts(cluster, changes)) events.push(hostEvent(cluster, host));
  return events;
}

/** A drained host is in another state when the last of its services has left. */
function changedHosts({ hosts }: Cluster, changes: Changes): Set<Host> {
  const changed = new Set([...changes.newHosts, ...changes.hosts, ...changes.conditions]);
  for (const { hostId } of changes.services) {
    const host = hostId === null ? undefined : hosts.get(hostId);
    if (host?.schedulable === false) changed.add(host);
  }
  for (const host of changes.removedHosts.keys()) changed.add(host);
  return changed;
}

function executionEvent({ users }: Cluster, execution: Execution): ExecutionEvent {
  const { id, name, userId, status, deleted } = execution;
  const userName = users.get(userId)?.username ?? '';
  return { kind: 'execution', id, name, userId, userName, status: deleted ? 'deleted' : status };
}

function serviceEvent(service: Service, { userId }: Execution): ServiceEvent {
  const { id, executionId, name, status, backendStatus, preparing } = service;
  const progress = status === 'starting' ? preparing : '';
  return { kind: 'service', id, executionId, userId, name, status, backendStatus, progress };
}

function hostEvent(cluster: Cluster, host: Host): HostEvent {
  const { id, name } = host;
  return { kind: 'host', id, name, state: cluster.hosts.has(id) ? hostStateOf(cluster, host) : 'removed' };
}
