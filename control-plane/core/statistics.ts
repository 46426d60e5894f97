/** Owns what of the live state may be seen from outside: which executions wait, run or end, and how full the hosts are. Pure. */
import type { Cluster } from './cluster.ts';
import type { ExecutionStatus } from './execution.ts';
import type { Host } from './host.ts';
import { isAssigned } from './service.ts';

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
  containers: [...cluster.servicesAt(host.id)].filter(isAssigned).length,
});
