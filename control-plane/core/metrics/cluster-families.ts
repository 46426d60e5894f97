/** Metrics of the live state: executions, queue, hosts, and the bounds on them. Pure. */
import { conditionKinds } from '../../../shared/protocol/conditions.ts';
import { MICRO } from '../accounts/quota.ts';
import { reserveOf } from '../model/bounds.ts';
import { type Host, isReachable } from '../model/host.ts';
import type { Cluster } from '../state/cluster.ts';
import { type HostState, hostStateOf, hostStates } from '../views/host-view.ts';
import { containersAt, schedulerSummaryOf } from '../views/statistics.ts';
import { byLabel, type Family, gauge, type Sample } from './family.ts';
import type { Limit } from './limits.ts';

export const activeFamily = (isActive: boolean): Family =>
  gauge(
    'berth_coordinator_active',
    '1 if this control plane holds the state; 0 on a standby, and without the database.',
    Number(isActive),
  );

/** `maxHosts`: how many hosts, in the order in which they joined, have metrics of their own. */
export function clusterFamilies(cluster: Cluster, nowMs: number, maxHosts: number): Family[] {
  const { queue, running, cleaningUp, hosts } = schedulerSummaryOf(cluster);
  const queuedMs = queue.oldestSubmitMs === null ? 0 : Math.max(0, nowMs - queue.oldestSubmitMs);
  const used = usedOf(cluster);
  const { starting } = running;
  const executions = {
    queued: queue.executions,
    starting,
    running: running.executions - starting,
    cleaning_up: cleaningUp,
  };
  return [
    gauge('berth_executions', 'Executions that have not ended, by state.', byLabel('state', executions)),
    gauge(
      'berth_queue_oldest_age_seconds',
      'Time since the submission of the oldest execution that waits; 0 if none does.',
      queuedMs / 1_000,
    ),
    gauge('berth_containers', 'Containers that should run.', running.containers),
    gauge('berth_hosts', 'Hosts, by state.', byLabel('state', hostsByState(cluster))),
    gauge('berth_memory_bytes', 'Memory of the connected hosts.', hosts.memoryBytes),
    gauge('berth_memory_reserved_bytes', 'Memory reserved on these hosts.', hosts.reservedMemoryBytes),
    gauge('berth_memory_used_bytes', 'Memory that their containers use, as agents report.', used.memoryBytes),
    gauge('berth_cores', 'Cores of the connected hosts.', hosts.cores),
    gauge('berth_cores_reserved', 'Cores reserved on these hosts.', hosts.reservedCores),
    gauge('berth_cores_used', 'Cores that their containers use, as agents report.', used.cores),
    ...hostFamilies(cluster, [...cluster.hosts.values()].slice(0, maxHosts)),
    gauge(
      'berth_hosts_omitted',
      'Hosts without metrics of their own, beyond BERTH_LIMITS.metricsHosts.',
      Math.max(0, cluster.hosts.size - maxHosts),
    ),
  ];
}

function hostsByState(cluster: Cluster): Record<HostState, number> {
  const counts = Object.fromEntries(hostStates.map((state) => [state, 0])) as Record<HostState, number>;
  for (const host of cluster.hosts.values()) counts[hostStateOf(cluster, host)] += 1;
  return counts;
}

function usedOf({ hosts }: Cluster): { memoryBytes: number; cores: number } {
  const used = { memoryBytes: 0, cores: 0 };
  for (const host of hosts.values()) {
    if (!isReachable(host) || !host.usage) continue;
    used.memoryBytes += host.usage.memoryBytes;
    used.cores += host.usage.cores;
  }
  return used;
}

/** What agents report reaches Prometheus through here, so that nobody has to reach the agents. */
function hostFamilies(cluster: Cluster, hosts: readonly Host[]): Family[] {
  const each = (name: string, help: string, of: (host: Host) => number | undefined): Family =>
    gauge(
      name,
      help,
      hosts.flatMap((host): Sample[] => {
        const value = of(host);
        return value === undefined ? [] : [{ labels: { host: host.name }, value }];
      }),
    );
  const usageOf = (host: Host) => (isReachable(host) ? host.usage : null);
  return [
    gauge(
      'berth_host_info',
      'Versions of the agent and of the engine of each host.',
      hosts.map(({ name, agentVersion, engineVersion }) => ({
        labels: { host: name, agent_version: agentVersion, engine_version: engineVersion },
        value: 1,
      })),
    ),
    each('berth_host_up', '1 if the agent of the host is connected.', (host) => Number(isReachable(host))),
    each(
      'berth_host_last_contact_timestamp_seconds',
      'When the host was last heard.',
      ({ heardMs }) => heardMs / 1_000,
    ),
    each('berth_host_memory_bytes', 'Memory that the host offers.', ({ memoryBytes }) => memoryBytes),
    each('berth_host_memory_reserved_bytes', 'Memory reserved.', (host) => host.reservedMemoryBytes),
    each('berth_host_memory_used_bytes', 'Memory that containers use.', (host) => usageOf(host)?.memoryBytes),
    each('berth_host_cores', 'Cores that the host offers.', ({ cores }) => cores),
    // Rounded, because sums of fractions drift.
    each(
      'berth_host_cores_reserved',
      'Cores reserved.',
      ({ reservedCores }) => Math.round(reservedCores * MICRO) / MICRO + 0,
    ),
    each('berth_host_cores_used', 'Cores that containers use.', (host) => usageOf(host)?.cores),
    each('berth_host_containers', 'Containers that should run.', ({ id }) => containersAt(cluster, id)),
    gauge(
      'berth_host_condition',
      'Conditions of hosts that agents report, by kind.',
      hosts.flatMap((host) =>
        [...conditionKindsOf(host)].map((kind) => ({ labels: { host: host.name, kind }, value: 1 })),
      ),
    ),
  ];
}

/** Agents report any text as a kind. */
const conditionKindsOf = (host: Host): Set<string> =>
  new Set(
    (isReachable(host) ? host.conditions : []).map(({ kind }) =>
      Object.hasOwn(conditionKinds, kind) ? kind : 'other',
    ),
  );

/** The bounds on what the coordinator holds. */
export function clusterLimits({ counts, schedulerConfig, placedWeight, unprovenIds }: Cluster): Limit[] {
  const { bounds } = schedulerConfig;
  const most = counts.mostWaiting;
  return [
    {
      name: 'waiting',
      setting: 'BERTH_LIMITS.waiting',
      used: counts.waiting,
      limit: bounds.waiting,
    },
    { name: 'waiting_with_reserve', used: counts.waiting, limit: bounds.waiting + reserveOf(bounds) },
    {
      name: 'waiting_of_one_user',
      setting: 'BERTH_LIMITS.waitingPerUser',
      used: most.executions,
      limit: bounds.waitingPerUser,
    },
    {
      name: 'waiting_descriptions_of_one_user',
      setting: 'BERTH_LIMITS.waitingBytesPerUser',
      unit: 'bytes',
      used: most.bytes,
      limit: bounds.waitingBytesPerUser,
    },
    {
      name: 'placed_instances',
      setting: 'BERTH_LIMITS.placedInstances',
      used: placedWeight,
      limit: bounds.placedInstances,
    },
    {
      name: 'unproven_ids',
      setting: 'BERTH_LIMITS.unprovenIds',
      used: unprovenIds,
      limit: bounds.unprovenIds,
    },
  ];
}
