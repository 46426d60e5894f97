/** Why a stream to a service ends with what the cluster has decided or observed. Pure. */
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { Cluster } from '../state/cluster.ts';

/** The start of a service that a stream is connected to, and its host. */
export interface StreamPlace {
  key: ServiceKey;
  hostId: number;
}

/** A sentence for people; undefined while the service runs there. */
export function streamEnd(cluster: Cluster, { key, hostId }: StreamPlace): string | undefined {
  const host = cluster.hosts.get(hostId);
  if (!host) return 'The host of the service was removed.';
  const service = cluster.services.get(key.service);
  if (!service) return 'The service has ended.';
  if (service.generation !== key.generation || service.hostId !== hostId)
    return 'The service was started again; connect anew.';
  const execution = cluster.executions.get(service.executionId);
  if (service.exit || service.failure) return 'The service has ended.';
  const { ending } = execution ?? {};
  if (ending?.moving) return `The service moves: ${ending.message}.`;
  if (ending || execution?.deleted) return 'The execution ends, and its service with it.';
  if (service.placed && service.status !== 'terminating' && service.status !== 'inactive') return undefined;
  return host.schedulable ? 'The service is stopped.' : `The service moves: host ${host.name} is drained.`;
}
