/** `platform_stats` of the scheduler statistics: the hosts as nodes of one platform. */
import type { HostState } from '../../core/views/statistics.ts';

/** Memory in bytes. `service_stats` is empty, because agents do not report usage per service. */
export const platformJson = (hosts: readonly HostState[]) => ({
  container_count: sum(hosts, ({ containers }) => containers),
  memory_total: sum(hosts, ({ memoryBytes }) => memoryBytes),
  memory_reserved: sum(hosts, ({ reservedMemoryBytes }) => reservedMemoryBytes),
  cores_total: sum(hosts, ({ cores }) => cores),
  cores_reserved: sum(hosts, ({ reservedCores }) => reservedCores),
  nodes: hosts.map((host) => ({
    name: host.name,
    status: host.connected ? 'online' : 'offline',
    labels: host.labels,
    container_count: host.containers,
    memory_total: host.memoryBytes,
    memory_reserved: host.reservedMemoryBytes,
    cores_total: host.cores,
    cores_reserved: host.reservedCores,
    service_stats: {},
  })),
});

const sum = (hosts: readonly HostState[], of: (host: HostState) => number): number =>
  hosts.reduce((total, host) => total + of(host), 0);
