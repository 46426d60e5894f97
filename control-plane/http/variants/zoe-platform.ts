/** `platform_stats` of the scheduler statistics: the hosts as nodes of one platform. */
import { type HostState, rounded } from '../../core/views/statistics.ts';

/** What the original reports without a database of metrics: Berth's agents report usage on request only. */
const UNMEASURED = { memory_in_use: 0, cores_in_use: 0 };

/** Memory in bytes. What is allocated is what is reserved, since services get no more than that. */
export const platformJson = (hosts: readonly HostState[]) => ({
  ...UNMEASURED,
  container_count: sum(hosts, ({ containers }) => containers),
  memory_total: sum(hosts, ({ memoryBytes }) => memoryBytes),
  memory_reserved: sum(hosts, ({ reservedMemoryBytes }) => reservedMemoryBytes),
  cores_total: rounded(sum(hosts, ({ cores }) => cores)),
  cores_reserved: rounded(sum(hosts, ({ reservedCores }) => reservedCores)),
  nodes: hosts.map((host) => ({
    name: host.name,
    status: host.connected ? 'online' : 'offline',
    labels: host.labels,
    container_count: host.containers,
    memory_total: host.memoryBytes,
    memory_reserved: host.reservedMemoryBytes,
    memory_allocated: host.reservedMemoryBytes,
    cores_total: host.cores,
    cores_reserved: host.reservedCores,
    cores_allocated: host.reservedCores,
    ...UNMEASURED,
    service_stats: {},
    images: [],
  })),
});

const sum = (hosts: readonly HostState[], of: (host: HostState) => number): number =>
  hosts.reduce((total, host) => total + of(host), 0);
