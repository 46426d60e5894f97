/**
 * Statistics of the live state: which executions wait, run or are being cleaned up, and how much of the hosts
 * is reserved. Pure.
 */

import { MICRO } from '../accounts/quota.ts';
import type { Execution, ExecutionStatus } from '../model/execution.ts';
import { type Host, isReachable } from '../model/host.ts';
import { isAssigned } from '../model/service.ts';
import { isUsable } from '../scheduling/host-filters.ts';
import type { Cluster } from '../state/cluster.ts';
import type { AwakeSummary } from './awake-totals.ts';

export interface SchedulerSnapshot {
  /** Ids of executions, oldest first. */
  queued: number[];
  /** Starting or running. */
  running: number[];
  cleaningUp: number[];
  hosts: HostState[];
}

export interface HostState extends Pick<Host, 'name' | 'connected' | 'labels' | 'memoryBytes' | 'cores'> {
  reservedMemoryBytes: number;
  reservedCores: number;
  /** Number of containers that should run. */
  containers: number;
}

export const schedulerSnapshotOf = (cluster: Cluster): SchedulerSnapshot => ({
  queued: idsOf(cluster, ['queued']),
  running: idsOf(cluster, ['starting', 'running']),
  cleaningUp: idsOf(cluster, ['cleaning up']),
  hosts: [...cluster.hosts.values()].map((host) => hostState(cluster, host)),
});

const idsOf = (cluster: Cluster, statuses: readonly ExecutionStatus[]): number[] =>
  [...cluster.executions.values()].filter(({ status }) => statuses.includes(status)).map(({ id }) => id);

/** Sums of fractions drift. */
export const rounded = (cores: number): number => Math.round(cores * MICRO) / MICRO + 0;

const hostState = (cluster: Cluster, host: Host): HostState => ({
  name: host.name,
  connected: host.connected,
  labels: host.labels,
  memoryBytes: host.memoryBytes,
  cores: host.cores,
  reservedMemoryBytes: host.reservedMemoryBytes,
  reservedCores: rounded(host.reservedCores),
  containers: containersAt(cluster, host.id),
});

/** The same state as a few numbers. Memory in bytes. */
export interface SchedulerSummary {
  queue: { executions: number; oldestSubmitMs: number | null };
  /** Executions that start or run, how many of these are starting, and the containers that should run. */
  running: { executions: number; starting: number; containers: number };
  cleaningUp: number;
  /** Amounts are totals of the connected hosts; `schedulable` counts those of them that take new services. */
  hosts: {
    known: number;
    connected: number;
    schedulable: number;
    memoryBytes: number;
    reservedMemoryBytes: number;
    cores: number;
    reservedCores: number;
  };
}

/** What reviews of the history do (coordinator/changes/history-review.ts). */
export interface HistorySummary {
  /** 0: for ever. */
  keepEndedDays: number;
  /** Executions that reviews have removed since the coordinator started. */
  removed: number;
  /** The end of the last complete review; null if there was none. */
  reviewedMs: number | null;
}

export interface SchedulerStatistics extends SchedulerSummary {
  history: HistorySummary;
  /** Null: the control plane runs on Node, which never sleeps. */
  awake: AwakeSummary | null;
}

export function schedulerSummaryOf(cluster: Cluster): SchedulerSummary {
  const { queue, running, cleaningUp } = countExecutions(cluster);
  const hosts = [...cluster.hosts.values()].filter(isReachable);
  return {
    queue,
    running: { ...running, containers: sum([...cluster.hosts.keys()], (id) => containersAt(cluster, id)) },
    cleaningUp,
    hosts: {
      known: cluster.hosts.size,
      connected: hosts.length,
      schedulable: hosts.filter(isUsable).length,
      memoryBytes: sum(hosts, ({ memoryBytes }) => memoryBytes),
      reservedMemoryBytes: sum(hosts, ({ reservedMemoryBytes }) => reservedMemoryBytes),
      cores: sum(hosts, ({ cores }) => cores),
      reservedCores: rounded(sum(hosts, ({ reservedCores }) => reservedCores)),
    },
  };
}

/** Does not go through all executions, because there may be 100,000 of them. */
function countExecutions({ executions, counts }: Cluster) {
  const starting = counts.of('starting');
  return {
    queue: { executions: counts.waiting, oldestSubmitMs: oldestSubmitMs(executions.values()) },
    running: { executions: starting + counts.of('running'), starting },
    cleaningUp: counts.of('cleaning up'),
  };
}

/** When the waiting execution was submitted that comes first in the order of submission. */
function oldestSubmitMs(executions: Iterable<Execution>): number | null {
  for (const { status, timeSubmitMs } of executions) if (status === 'queued') return timeSubmitMs;
  return null;
}

/**
 * Containers that should run on a host. Counted without a copy, because an overview does this for 10,000
 * hosts.
 */
export function containersAt(cluster: Cluster, hostId: number): number {
  let containers = 0;
  for (const service of cluster.servicesAt(hostId)) if (isAssigned(service)) containers += 1;
  return containers;
}

const sum = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((total, one) => total + of(one), 0);
