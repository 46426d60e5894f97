/**
 * API of the earlier platform, as its servers of 2018.12 and 2017.12 answer, so that their released clients
 * work unchanged (SPEC.md H150 to H167).
 */
import { type AppAddresses, pathAddress } from '../../core/apps/app-address.ts';
import { OperationError } from '../../core/model/errors.ts';
import { type Endpoint, isEssential, type ServiceView } from '../../core/views/execution-views.ts';
import { type HostState, rounded, type SchedulerSnapshot } from '../../core/views/statistics.ts';
import type { ListedExecution } from '../../operations/executions/waiting.ts';
import { executionText, hasContainer, serviceJson } from '../json/render.ts';
import type { Variant } from '../variant.ts';
import { groupA } from './group-a.ts';
import { groupB } from './group-b.ts';
import { zoeAccounts } from './zoe-accounts.ts';
import { zoeContainers } from './zoe-containers.ts';
import { showDescription, showService } from './zoe-description.ts';
import { executionSeenAt, serviceSeenAt } from './zoe-ends.ts';
import { NOBODY } from './zoe-filter.ts';
import { type Release, zoeRoutes } from './zoe-routes.ts';

/** As long as the cookies of the earlier platform lived. */
const WORK_SESSION_MS = 30 * 24 * 60 * 60_000;

/** What both releases have in common. */
const zoe = {
  created: 201,
  removed: 204,
  forbidden: 401,
  options: 204,
  workSessionMs: WORK_SESSION_MS,
  // Another user's execution is not hidden (H173).
  errorFor: (error) => (error.isOthers ? new OperationError('forbidden', 'Unauthorized') : error),
  builtInRoles: { superuser: { canDeleteExecutions: false } },
  containerExtrasOf: zoeContainers,
  validatePath: '/zapp_validate',
  tokens: null,
  documentedAs: undefined,
} as const satisfies Partial<Variant>;

const shown = (execution: ListedExecution, nowMs: number): ListedExecution => ({
  ...executionSeenAt(execution, nowMs),
  description: showDescription(execution.description),
});

function zoeServiceJson(described: ServiceView, apps: AppAddresses, nowMs: number) {
  const { progress, ...service } = serviceSeenAt(described, nowMs);
  return {
    ...serviceJson({ ...service, description: showService(service.description) }),
    ...(!hasContainer(service) && { ip_address: null, backend_id: null }),
    essential: isEssential(service),
    backend_host: service.hostName,
    // The first start is not a restart.
    restart_count: Math.max(0, service.starts - 1),
    proxy_address: proxyAddress(service, apps),
  };
}

/** The address of the first port that has one, without a scheme, which clients put before it. */
function proxyAddress({ id, description }: ServiceView, apps: AppAddresses): string | null {
  const [first] = description.ports.flatMap((port) => pathAddress(apps, id, port) ?? []);
  return first?.replace(/^https?:\/\//, '') ?? null;
}

/** The URL of the port, and where the proxy has it. */
const proxied = ({ name, published, path, app }: Endpoint) => {
  const outside = path ?? app ?? null;
  return [name, published ?? outside, outside];
};

const statisticsJson = ({ queued, running, cleaningUp, hosts }: SchedulerSnapshot) => ({
  queue_length: queued.length,
  running_length: running.length,
  termination_threads_count: cleaningUp.length,
  queue: queued,
  running_queue: running,
  platform_stats: platformJson(hosts),
});

const release2018: Release = {
  version: '2018.12',
  overQuota: 'refuse',
  othersList: 'own',
  discovery: 'work',
  endpointsJson: (endpoints) => ({ endpoints: endpoints.map(proxied) }),
  statisticsJson: (snapshot) => ({
    ...statisticsJson(snapshot),
    termination_queue_length: snapshot.cleaningUp.length,
    termination_queue: snapshot.cleaningUp,
  }),
};

const release2017: Release = {
  version: '2017.12',
  overQuota: 'queue',
  othersList: 'none',
  discovery: 'public',
  userInfo: true,
  endpointsJson: (endpoints) => ({ endpoints: endpoints.map((one) => proxied(one).slice(0, 2)) }),
  statisticsJson,
};

export const zoe2018: Variant = {
  ...groupB,
  ...zoe,
  ownerOf: (userId) => groupB.ownerOf(userId) ?? NOBODY,
  errorBody: false,
  executionText(execution, nowMs) {
    const { size } = JSON.parse(execution.description) as { size: number };
    return `${executionText(shown(execution, nowMs), groupB).slice(0, -1)},"size":${size}}`;
  },
  serviceJson: zoeServiceJson,
  adapt: (own) => zoeRoutes(own, release2018),
  accounts: zoeAccounts,
  overQuota: release2018.overQuota,
};

export const zoe2017: Variant = {
  ...groupA,
  ...zoe,
  ownerOf: (userId) => groupA.ownerOf(userId) ?? NOBODY,
  executionText: (execution, nowMs) => executionText(shown(execution, nowMs), groupA),
  serviceJson: zoeServiceJson,
  adapt: (own) => zoeRoutes(own, release2017),
};

/** What the original reports without a database of metrics: Berth's agents report usage on request only. */
const UNMEASURED = { memory_in_use: 0, cores_in_use: 0 };

/**
 * `platform_stats` of the scheduler statistics: the hosts as nodes of one platform. Memory is in bytes. What
 * is allocated is what is reserved, since services get no more than that.
 */
const platformJson = (hosts: readonly HostState[]) => ({
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
