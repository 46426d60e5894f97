/** Assignments of services, made from the cluster's state and the descriptions of their executions. */
import type { Application } from '../../../shared/application-schema.ts';
import { assignmentOf } from '../../../shared/expand.ts';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { type Port, proxyPath } from '../../core/apps/app-address.ts';
import { swarmManagers } from '../../core/hosts/swarms.ts';
import type { Execution } from '../../core/model/execution.ts';
import { memoryLimitOf } from '../../core/model/resources.ts';
import { isAssigned, type Service } from '../../core/model/service.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import { definitionOf } from '../../core/views/execution-views.ts';
import type { DeploymentParts } from './deployment-parts.ts';

/** Those of a host, made one by one, as they are needed. */
export function* assignmentsAt(
  hostId: number,
  cluster: Cluster,
  deployment: DeploymentParts,
): Generator<Assignment> {
  const assignment = assigner(cluster, deployment);
  for (const service of cluster.servicesAt(hostId)) if (isAssigned(service)) yield assignment(service);
}

/** The description was validated at submission. */
const applicationOf = ({ loaded }: Cluster, execution: Execution): Application =>
  loaded.get(execution) ?? JSON.parse(String(execution.description));

/** Makes assignments, and parses each description once. */
export function assigner(
  cluster: Cluster,
  { name: deploymentName, isolation, proofOf, apps, containerExtras: extras }: DeploymentParts,
): (service: Service) => Assignment {
  const applications = new Map<Execution, Application>();
  const managersOf = swarmManagers(cluster);
  const overlayAt = (hostId: number | null): Pick<Assignment, 'overlay'> => {
    const host = hostId === null ? undefined : cluster.hosts.get(hostId);
    if (!host?.swarm || isolation === 'none') return {};
    return { overlay: managersOf(host).length > 0 ? 'now' : 'later' };
  };
  return (service) => {
    const execution = cluster.executions.get(service.executionId);
    if (!execution) throw new Error(`service ${service.id} has no execution`);
    const application = applications.get(execution) ?? applicationOf(cluster, execution);
    applications.set(execution, application);
    const { id: executionId, name: executionName, userId } = execution;
    const user = cluster.users.get(userId);
    if (!user) throw new Error(`execution ${executionId} has no user`);
    const { username: userName, fsUid, workspace } = user;
    const key = { service: service.id, generation: service.generation };
    const proxyPathOf = (port: Port) => proxyPath(apps, service.id, port);
    const owner = { userName, workspace, userId, fsUid };
    const context = { executionId, executionName, deploymentName, ...owner, extras, proxyPathOf };
    const definition = definitionOf(application, service.group);
    const idProof = proofOf({ execution: executionId, service: service.id });
    const credentials = cluster.credentials.forPull(userId, definition.image);
    const limitBytes = memoryLimitOf(service.requirement, cluster.schedulerConfig.defaultMemoryBytes);
    return {
      ...assignmentOf(key, service.name, definition, limitBytes, context),
      isolation,
      idProof,
      ...(credentials !== undefined && { credentials }),
      ...overlayAt(service.hostId),
    };
  };
}
