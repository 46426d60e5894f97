/** Views of hosts: what administrators see, before `http/` renders it in the words of a variant. Pure. */
import type { Condition, HostUsage } from '../../../shared/protocol/up.ts';
import { MICRO } from '../accounts/quota.ts';
import { servicesLeftAt } from '../hosts/drain.ts';
import { OperationError } from '../model/errors.ts';
import { blockingConditionOf, type Host, type HostOffer, isReachable } from '../model/host.ts';
import { memoryLimitOf } from '../model/resources.ts';
import type { BackendStatus, Service, ServiceStatus } from '../model/service.ts';
import type { Cluster } from '../state/cluster.ts';
import { containersAt } from './statistics.ts';

/**
 * `ready` accepts services; `paused` does not, because of a blocking condition. `draining` is drained with
 * services still there, `drained` is drained without. `disconnected` and `lost` have no connected agent, and
 * take precedence over the other states.
 */
export const hostStates = ['ready', 'paused', 'draining', 'drained', 'disconnected', 'lost'] as const;
export type HostState = (typeof hostStates)[number];

export interface HostView {
  id: number;
  name: string;
  address: string;
  state: HostState;
  connected: boolean;
  lost: boolean;
  schedulable: boolean;
  /** `labels` are the labels that count; `adminLabels` are those of them that an administrator gave. */
  labels: readonly string[];
  adminLabels: readonly string[];
  /** What its agent offers beyond what was agreed; null if nothing. */
  pending: HostOffer | null;
  memoryBytes: number;
  reservedMemoryBytes: number;
  /** The memory limits of the services that are placed there. */
  memoryLimits: MemoryLimits;
  cores: number;
  reservedCores: number;
  /** What its containers really use; null if no agent reports it. */
  usage: HostUsage | null;
  /** Number of containers that should run. */
  containers: number;
  agentVersion: string;
  engineVersion: string;
  heardMs: number;
  conditions: readonly Condition[];
}

/** Services that state no minimum reserve no memory, and have a limit all the same. */
export interface MemoryLimits {
  /** The sum of the limits, which may be more than the host has. */
  bytes: number;
  /** Number of services without a limit. */
  unlimited: number;
}

/** With the services that are placed there, or whose containers may still be there. */
export interface HostDetail extends HostView {
  services: HostService[];
}

export interface HostService {
  id: number;
  name: string;
  executionId: number;
  executionName: string;
  /** Owner of the execution. */
  userId: number;
  essential: boolean;
  status: ServiceStatus;
  backendStatus: BackendStatus;
}

export function hostIn({ hosts }: Cluster, id: number): Host {
  const host = hosts.get(id);
  if (!host) throw new OperationError('not-found', 'There is no such host.');
  return host;
}

/** In the order in which the hosts joined. */
export const hostViewsOf = (cluster: Cluster): HostView[] =>
  Array.from(cluster.hosts.values(), (host) => hostViewOf(cluster, host));

export function hostViewOf(cluster: Cluster, host: Host): HostView {
  const { id, name, address, connected, lost, schedulable, labels, adminLabels, memoryBytes, cores } = host;
  const { reservedMemoryBytes, agentVersion, engineVersion, heardMs, conditions } = host;
  const reachable = isReachable(host);
  return {
    id,
    name,
    address,
    state: hostStateOf(cluster, host),
    connected,
    lost,
    schedulable,
    labels,
    adminLabels,
    pending: host.pending,
    memoryBytes,
    reservedMemoryBytes,
    memoryLimits: memoryLimitsAt(cluster, id),
    cores,
    // Rounded, because sums of fractions drift.
    reservedCores: Math.round(host.reservedCores * MICRO) / MICRO + 0,
    usage: reachable ? host.usage : null,
    containers: containersAt(cluster, id),
    agentVersion,
    engineVersion,
    heardMs,
    conditions: reachable ? conditions : [],
  };
}

/** In all, at these hosts. */
export function memoryLimitsOf(cluster: Cluster, hosts: Iterable<Host>): MemoryLimits {
  const sum: MemoryLimits = { bytes: 0, unlimited: 0 };
  for (const { id } of hosts) {
    const { bytes, unlimited } = memoryLimitsAt(cluster, id);
    sum.bytes += bytes;
    sum.unlimited += unlimited;
  }
  return sum;
}

function memoryLimitsAt(cluster: Cluster, hostId: number): MemoryLimits {
  const limits: MemoryLimits = { bytes: 0, unlimited: 0 };
  for (const { placed, requirement } of cluster.servicesAt(hostId)) {
    if (!placed) continue;
    const bytes = memoryLimitOf(requirement, cluster.schedulerConfig.defaultMemoryBytes);
    limits.bytes += bytes;
    if (bytes === 0) limits.unlimited += 1;
  }
  return limits;
}

/** Throws OperationError if there is no such host. */
export function hostDetailOf(cluster: Cluster, id: number): HostDetail {
  const host = hostIn(cluster, id);
  const services = servicesLeftAt(cluster, host).toSorted((a, b) => a.id - b.id);
  return {
    ...hostViewOf(cluster, host),
    services: services.map((service) => serviceOf(cluster, service)),
  };
}

function serviceOf(cluster: Cluster, service: Service): HostService {
  const { id, name, executionId, essential, status, backendStatus } = service;
  const { name: executionName = '', userId = 0 } = cluster.executions.get(executionId) ?? {};
  return { id, name, executionId, executionName, userId, essential, status, backendStatus };
}

export function hostStateOf(cluster: Cluster, host: Host): HostState {
  if (host.lost) return 'lost';
  if (!host.connected) return 'disconnected';
  if (!host.schedulable) return servicesLeftAt(cluster, host).length > 0 ? 'draining' : 'drained';
  return blockingConditionOf(host) ? 'paused' : 'ready';
}
