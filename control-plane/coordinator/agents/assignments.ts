/** Assignments of services, made from the cluster's state and the descriptions of their executions. */
import type { Application } from '../../../shared/application-schema.ts';
import { assignmentOf } from '../../../shared/expand.ts';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { imageRegistry } from '../../../shared/protocol/secrets.ts';
import {
  CREDENTIALS_VERSION,
  HEALTH_VERSION,
  SECRET_VERSION,
  UNPUBLISHED_VERSION,
} from '../../../shared/protocol/version.ts';
import { type Port, proxyPath } from '../../core/apps/app-address.ts';
import { swarmManagers } from '../../core/hosts/swarms.ts';
import { cannotCheck, observe } from '../../core/lifecycle/observations.ts';
import type { Execution } from '../../core/model/execution.ts';
import { memoryLimitOf } from '../../core/model/resources.ts';
import { isAssigned, type Service } from '../../core/model/service.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import { definitionOf } from '../../core/views/execution-views.ts';
import type { Turns } from '../turns.ts';
import type { DeploymentParts } from './deployment-parts.ts';

/** A session, as far as it determines what its agent can start. */
type AgentOf = Readonly<{ hostId: number; version: number }>;

/** What the session's agent can start, made one by one, as it is needed. */
export function* assignmentsAt(
  session: AgentOf,
  cluster: Cluster,
  deployment: DeploymentParts,
  turns: Pick<Turns, 'enqueue'>,
): Generator<Assignment> {
  const assignment = assigner(cluster, deployment);
  for (const service of cluster.servicesAt(session.hostId))
    if (isAssigned(service)) yield* startable(turns, session, [assignment(service)]);
}

/**
 * The assignments that the agent of a session can start. An agent of an earlier version can use neither
 * secrets nor credentials, nor check health, and publishes every port: such a start has failed for the time
 * being (P223, P239, C292, P291).
 */
export function* startable(
  turns: Pick<Turns, 'enqueue'>,
  { hostId, version }: AgentOf,
  assignments: Iterable<Assignment>,
): Generator<Assignment> {
  for (const assignment of assignments) {
    const problem = problemAt(version, assignment);
    if (!problem) {
      yield assignment;
      continue;
    }
    const { service, generation } = assignment;
    turns.enqueue({
      run: (cluster, nowMs) => {
        const host = cluster.hosts.get(hostId);
        if (!host) return;
        const message = TOO_OLD[problem](host.name, assignment.image);
        observe(cluster, host, { service, generation, state: 'failed', temporary: true, message }, nowMs);
      },
      fail: () => {},
    });
  }
}

const TOO_OLD: Readonly<
  Record<'secrets' | 'credentials' | 'health' | 'ports', (host: string, image: string) => string>
> = {
  secrets: (host) =>
    `the agent of host ${host} is too old to use secrets: update it (berth host update ${host})`,
  credentials: (host, image) =>
    `the agent of host ${host} is too old to pull with the credentials for ${imageRegistry(image)}: update it ` +
    `(berth host update ${host})`,
  health: cannotCheck,
  ports: (host) =>
    `the agent of host ${host} is too old to leave a port unpublished, as "publish": false demands: update it ` +
    `(berth host update ${host})`,
};

/** What an agent of a version can't do for a start; undefined if it can do everything. */
function problemAt(
  version: number,
  { secrets, credentials, health, ports }: Assignment,
): keyof typeof TOO_OLD | undefined {
  if (secrets && version < SECRET_VERSION) return 'secrets';
  if (credentials !== undefined && version < CREDENTIALS_VERSION) return 'credentials';
  if (version < UNPUBLISHED_VERSION && ports.some(({ publish }) => publish === false)) return 'ports';
  return health !== undefined && version < HEALTH_VERSION ? 'health' : undefined;
}

/** The description was validated at submission. */
const applicationOf = ({ loaded }: Cluster, execution: Execution): Application =>
  loaded.get(execution) ?? JSON.parse(String(execution.description));

/** Makes assignments, and parses each description once. */
export function assigner(
  cluster: Cluster,
  { name: deploymentName, isolation, proofOf, apps }: DeploymentParts,
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
    const context = {
      executionId,
      executionName,
      deploymentName,
      userName,
      workspace,
      userId,
      fsUid,
      proxyPathOf,
    };
    const definition = definitionOf(application, service.group);
    const idProof = proofOf({ execution: executionId, service: service.id });
    const credentials = cluster.credentials.forPull(userId, definition.image);
    const limitBytes = memoryLimitOf(service.requirement, cluster.schedulerConfig.defaultMemoryBytes);
    return {
      ...assignmentOf(key, service.name, definition, limitBytes, context),
      ...{ isolation, idProof },
      ...(credentials !== undefined && { credentials }),
      ...overlayAt(service.hostId),
    };
  };
}
