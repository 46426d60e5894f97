/**
 * Expands a description: a service definition becomes named instances, and an instance of an execution
 * becomes an assignment with every variable filled in. Pure.
 */
import type { Application, ServiceDescription } from './application-schema.ts';
import { splitCommand } from './command.ts';
import type { Assignment } from './protocol/assignment.ts';
import type { HealthCheck } from './protocol/health.ts';
import { defaultHealth, type HealthDescription, isPublished } from './schema-parts.ts';
import { SECRET_REFERENCE, substitute, type Variables } from './variables.ts';

export interface ServiceSpec {
  /** `<group><counter>`, counted from 0. */
  name: string;
  group: string;
  essential: boolean;
  definition: ServiceDescription;
}

/**
 * The instances in the order of the definitions. The first `essential_count` of each definition are
 * essential.
 */
export function expandApplication(application: Application): ServiceSpec[] {
  return application.services.flatMap((definition) =>
    Array.from({ length: definition.total_count }, (_, counter) => ({
      name: `${definition.name}${counter}`,
      group: definition.name,
      essential: counter < definition.essential_count,
      definition,
    })),
  );
}

/** What all containers of a deployment have besides. */
export interface ContainerExtras {
  /** The path of the workspace. */
  workspace: string;
  environment: readonly [name: string, value: string][];
  labelsOf(service: number, instance: string, context: ExecutionContext): Record<string, string>;
}

export interface ExecutionContext {
  executionId: number;
  executionName: string;
  deploymentName: string;
  userName: string;
  /** Name of the folder with the owner's files on hosts; absent: the user name. */
  workspace?: string | undefined;
  userId: number;
  /** The user's id in file systems. */
  fsUid: number;
  extras?: ContainerExtras | undefined;
  /** The path under which the web application at a port serves; undefined if the port has none. */
  proxyPathOf?: ((port: ServiceDescription['ports'][number]) => string | undefined) | undefined;
}

/** Container name, host name and DNS name of an instance (api: discovery). */
export const dnsNameOf = (instance: string, executionId: number, deploymentName: string): string =>
  `${instance}-${executionId}-${deploymentName}`;

/**
 * The part of the assignment for one start of `instance` that its description determines. `definition`
 * describes its group.
 */
export function assignmentOf(
  key: { service: number; generation: number },
  instance: string,
  definition: ServiceDescription,
  memoryLimitBytes: number,
  context: ExecutionContext,
): Omit<Assignment, 'idProof' | 'isolation'> {
  const name = dnsNameOf(instance, context.executionId, context.deploymentName);
  const variables = variablesOf(instance, context);
  const hasSecrets = needsSecrets(definition);
  return {
    ...key,
    execution: context.executionId,
    name,
    instance,
    owner: context.workspace ?? context.userName,
    image: definition.image,
    command: commandWords(definition.command, variables),
    // The agent fetches the whole environment, with the values of secrets (P220).
    environment: hasSecrets ? [] : environmentOf(instance, definition, context),
    ...(hasSecrets && { secrets: true }),
    workDir: definition.work_dir ?? null,
    user: definition.user ?? null,
    ownerUid: context.fsUid,
    network: definition.network ?? null,
    memoryMinBytes: definition.resources.memory.min,
    memoryMaxBytes: memoryLimitBytes,
    coresMin: definition.resources.cores.min,
    coresMax: definition.resources.cores.max,
    shmBytes: definition.resources.shm ?? (definition.resources.shm_size || null),
    ports: portsOf(definition),
    volumes: definition.volumes.map(({ name, path, read_only }) => ({ name, path, readOnly: read_only })),
    ...(definition.health && { health: healthCheckOf(definition.health, variables) }),
    ...(context.extras && {
      workspace: context.extras.workspace,
      labels: context.extras.labelsOf(key.service, instance, context),
    }),
  };
}

const portsOf = (definition: ServiceDescription): Assignment['ports'] =>
  definition.ports.map((port) => ({
    port: port.port_number,
    protocol: port.protocol,
    ...(!isPublished(definition, port) && { publish: false }),
  }));

/** The check in the words of the protocol. */
function healthCheckOf(health: HealthDescription, variables: Variables): HealthCheck {
  const frame = {
    intervalMs: 1_000 * (health.interval ?? defaultHealth.interval),
    timeoutMs: 1_000 * (health.timeout ?? defaultHealth.timeout),
    retries: health.retries ?? defaultHealth.retries,
    startPeriodMs: 1_000 * (health.start_period ?? defaultHealth.start_period),
  };
  const { http, tcp, command } = health;
  if (http) return { ...frame, kind: 'http', port: http.port, path: http.path };
  if (tcp) return { ...frame, kind: 'tcp', port: tcp.port };
  const words = commandWords(command ?? null, variables);
  return words ? { ...frame, kind: 'command', words } : { ...frame, kind: 'image' };
}

/** Whether an agent must fetch values of secrets for each start of the service. */
export const needsSecrets = ({ environment, files = [] }: SecretUse): boolean =>
  files.length > 0 || environment.some(([, value]) => value.includes(SECRET_REFERENCE));

type SecretUse = Pick<ServiceDescription, 'environment' | 'files'>;

/** The environment of an instance, with all variables filled in. `secret`: the value of a secret. */
export function environmentOf(
  instance: string,
  definition: Pick<ServiceDescription, 'environment' | 'ports'>,
  context: ExecutionContext,
  secret?: (name: string) => string,
): [string, string][] {
  const variables = { ...variablesOf(instance, context), ...(secret && { secret }) };
  return [
    ...definition.environment.map(([key, value]): [string, string] => [key, substitute(value, variables)]),
    ...ownEnvironment(instance, context),
    ...proxyPaths(definition.ports, context),
  ];
}

/** In the name that existing descriptions use (SPEC H745). */
const proxyPaths = (ports: ServiceDescription['ports'], { proxyPathOf }: ExecutionContext) =>
  ports.flatMap((port): [string, string][] => {
    const path = proxyPathOf?.(port);
    return path === undefined ? [] : [[`REVERSE_PROXY_PATH_${port.port_number}`, path]];
  });

const variablesOf = (instance: string, context: ExecutionContext): Variables => ({
  user_name: context.userName,
  execution_id: String(context.executionId),
  execution_name: context.executionName,
  deployment_name: context.deploymentName,
  dnsName: (other) =>
    dnsNameOf(other === 'self' ? instance : other, context.executionId, context.deploymentName),
});

function commandWords(command: string | null, variables: Variables): string[] | null {
  if (command === null) return null;
  const split = splitCommand(command);
  if ('problem' in split) throw new Error(`command ${split.problem}`);
  return split.words.length === 0 ? null : split.words.map((word) => substitute(word, variables));
}

/** Variables that every container has. The agent adds the workspace, which depends on the host. */
function ownEnvironment(instance: string, context: ExecutionContext): [string, string][] {
  return [
    ['EXECUTION_ID', String(context.executionId)],
    ['EXECUTION_NAME', context.executionName],
    ['DEPLOY_NAME', context.deploymentName],
    ['SERVICE_NAME', instance],
    ['BERTH_USER', context.userName],
    ['BERTH_UID', String(context.userId)],
    ['ZOE_USER', context.userName],
    ['ZOE_UID', String(context.fsUid)],
    ...(context.extras?.environment ?? []),
  ];
}
