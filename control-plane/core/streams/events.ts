/**
 * Events: one for each execution, service and host that a turn has changed, with its state after the turn. An
 * event is a hint (STREAM-1): subscribers read everything else through the API. Pure.
 */

import type { Execution, ExecutionStatus } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { BackendStatus, Service, ServiceStatus } from '../model/service.ts';
import type { Changes } from '../state/changes.ts';
import type { Cluster } from '../state/cluster.ts';
import { type HostState, hostStateOf } from '../views/host-view.ts';
import type { Subscriber } from './channel-subscriber.ts';

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
  /** Progress of the service's start as its host reports it; empty if there is none. */
  progress: string;
}

export interface HostEvent {
  kind: 'host';
  id: number;
  name: string;
  state: HostState | 'removed';
}

/** What a subscriber may receive: events of its own executions or of all, and events of hosts or none. */
export interface Audience {
  userId: number;
  seesOthers: boolean;
  seesHosts: boolean;
}

/** The subscriber of a stream of events, and the last event that it has. */
export interface EventSubscriber extends Audience, Subscriber {
  /** Null if the subscriber has read no event yet. */
  lastEventId: string | null;
}

/** One line of JSON in a stream of events from the coordinator. `id` is the id to continue after. */
export interface EventFrame {
  id: string;
  /**
   * `hello`: no event is missing from here on. `reset`: events were missed. `beat`: no event has happened.
   */
  event: ClusterEvent | { kind: 'hello' | 'reset' | 'beat' };
}

export const isFor = ({ userId, seesOthers, seesHosts }: Audience, event: ClusterEvent): boolean =>
  event.kind === 'host' ? seesHosts : seesOthers || event.userId === userId;

/** The events of one turn, each object once. The deletion of an execution is its last event. */
export function eventsOf(cluster: Cluster, changes: Changes): ClusterEvent[] {
  const executions = new Map<number, Execution>();
  for (const rows of [changes.newExecutions.keys(), changes.executions])
    for (const execution of rows) executions.set(execution.id, execution);
  const events: ClusterEvent[] = [];
  for (const execution of executions.values())
    if (!execution.deleted || changes.deleted.has(execution)) events.push(executionEvent(cluster, execution));
  for (const service of new Set([...changes.services, ...changes.progressed])) {
    // An execution that ended in this turn is not in `cluster.executions`.
    const execution = executions.get(service.executionId) ?? cluster.executions.get(service.executionId);
    if (execution && !execution.deleted) events.push(serviceEvent(service, execution));
  }
  for (const host of changedHosts(cluster, changes)) events.push(hostEvent(cluster, host));
  return events;
}

/** A drained host changes its state when its last service leaves, without a change of its own row. */
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
