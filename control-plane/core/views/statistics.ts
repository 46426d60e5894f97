/** Owns what of the live state may be seen from outside: which executions wait, run or end, and how full the hosts are. Pure. */

import { MICRO } from '../accounts/quota.ts';
import type { ExecutionStatus } from '../model/execution.ts';
import { type Host, isReachable } from '../model/host.ts';
import { isAssigned } from '../model/service.ts';
import { isUsable } from '../scheduling/free-capacity.ts';
import type { Cluster } from '../state/cluster.ts';

export interface SchedulerState {
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
  /** Containers that are to run. */
  containers: number;
}

export const schedulerStateOf = (cluster: Cluster): SchedulerState => ({
  queued: idsOf(cluster, ['queued']),
  running: idsOf(cluster, ['starting', 'running']),
  cleaningUp: idsOf(cluster, ['cleaning up']),
  hosts: [...cluster.hosts.values()].map((host) => hostState(cluster, host)),
});

const idsOf = (cluster: Cluster, statuses: readonly ExecutionStatus[]): number[] =>
  [...cluster.executions.values()].filter(({ status }) => statuses.includes(status)).map(({ id }) => id);

const hostState = (cluster: Cluster, host: Host): HostState => ({
  name: host.name,
  connected: host.connected,
  labels: host.labels,
  memoryBytes: host.memoryBytes,
  cores: host.cores,
  reservedMemoryBytes: host.reservedMemoryBytes,
  reservedCores: host.reservedCores,
  containers: containersAt(cluster, host.id),
});

/** The same in a few numbers. Memory in bytes. */
export interface SchedulerSummary {
  queue: { executions: number; oldestSubmitMs: number | null };
  /** What starts or runs, how many of these start, and the containers that are to run. */
  running: { executions: number; starting: number; containers: number };
  cleaningUp: number;
  /** Amounts are those of the connected hosts; of these the schedulable ones take new services. */
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
      // Sums of fractions drift.
      reservedCores: Math.round(sum(hosts, ({ reservedCores }) => reservedCores) * MICRO) / MICRO + 0,
    },
  };
}

/** In one pass, since there may be 100,000. */
function countExecutions({ executions }: Cluster) {
  const counts = {
    queue: { executions: 0, oldestSubmitMs: null as number | null },
    running: { executions: 0, starting: 0 },
    cleaningUp: 0,
  };
  for (const { status, timeSubmitMs } of executions.values()) {
    if (status === 'queued') {
      counts.queue.executions += 1;
      counts.queue.oldestSubmitMs = Math.min(counts.queue.oldestSubmitMs ?? timeSubmitMs, timeSubmitMs);
    } else if (status === 'cleaning up') counts.cleaningUp += 1;
    else if (status === 'starting' || status === 'running') {
      counts.running.executions += 1;
      if (status === 'starting') counts.running.starting += 1;
    }
  }
  return counts;
}

/** Containers that are to run on a host. Counted without a copy, since this is done for 10,000 hosts at a look. */
export function containersAt(cluster: Cluster, hostId: number): number {
  let containers = 0;
  for (const service of cluster.servicesAt(hostId)) if (isAssigned(service)) containers += 1;
  return containers;
}

const sum = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((total, one) => total + of(one), 0);
