/**
 * Views of executions and services: what the API shows, before a variant renders it in its own words. Pure.
 */
import type { Application, ServiceDescription } from '../../../shared/application-schema.ts';
import { type AppAddresses, appAddress, type Port, pathAddress, proxyPath } from '../apps/app-address.ts';
import type { ExecutionStatus } from '../model/execution.ts';
import type { BackendStatus, Service, ServiceStatus } from '../model/service.ts';
import type { ServiceStart } from '../model/service-history.ts';

export interface ExecutionView {
  id: number;
  name: string;
  userId: number;
  userName: string;
  status: ExecutionStatus;
  /** JSON text as submitted. */
  description: string;
  errorMessage: string | null;
  timeSubmitMs: number;
  timePlaceMs: number | null;
  timeStartMs: number | null;
  timeStopMs: number | null;
  timeEndMs: number | null;
  timeLimitS: number | null;
  serviceIds: readonly number[];
}

/** An execution in a list, without its description. */
export interface ExecutionLine
  extends Pick<
    ExecutionView,
    'id' | 'name' | 'userName' | 'status' | 'timeSubmitMs' | 'timeStartMs' | 'timeEndMs'
  > {
  /** The name of the application in the description. */
  application: string;
  /** The beginning of its error message. */
  error: string | null;
  services: number;
  activeServices: number;
}

export interface ServiceView {
  id: number;
  executionId: number;
  /** Owner of the execution. */
  userId: number;
  execution: Pick<ExecutionView, 'status' | 'timeStartMs'>;
  name: string;
  group: string;
  status: ServiceStatus;
  backendStatus: BackendStatus;
  ipAddress: string | null;
  containerId: string | null;
  errorMessage: string | null;
  /** How its last container ended. */
  exit: Service['exit'];
  /** Whether its last container ended without a requested stop. */
  hasDied: boolean;
  ports: Service['ports'];
  hostName: string | null;
  /** Null if it has no host, or a host that was removed. */
  hostId: number | null;
  hostAddress: string | null;
  /** Number of starts so far, over all hosts. */
  starts: number;
  /** When it is started again; null if no restart is due. */
  restartAtMs: number | null;
  /** Whether its end has decided that of the execution. */
  hasEndedExecution: boolean;
  /** Its last starts, the oldest first; only present where one service is read. */
  history?: readonly ServiceStart[];
  /** Who may use its web applications besides those who may operate it (`sharedWithUsers`). */
  share: Application['share'];
  description: ServiceDescription;
  /** Progress of its start as its host reports it; only present where requested and known. */
  progress?: string;
}

export const serviceHealths = ['starting', 'healthy', 'unhealthy'] as const;
export type ServiceHealth = (typeof serviceHealths)[number];

/** What is known of the health of its container; null if that is not checked, or does not run. */
export function healthOf({
  description,
  status,
  backendStatus,
  exit,
}: Pick<ServiceView, 'description' | 'status' | 'backendStatus' | 'exit'>): ServiceHealth | null {
  if (!description.health) return null;
  if (exit?.unhealthy !== undefined) return 'unhealthy';
  if (status === 'active') return 'healthy';
  return status === 'starting' && backendStatus === 'started' ? 'starting' : null;
}

/** Where users reach a port. At least one of its URLs is there. */
export interface Endpoint {
  /** The name of the port. */
  name: string;
  /** The web application at a host name of its own, and beneath a path. */
  app?: string | undefined;
  path?: string | undefined;
  /** The port that the host publishes. */
  published?: string | undefined;
}

/** The endpoint of each port of each active service, in their order. */
export function endpointsOf(services: readonly ServiceView[], apps: AppAddresses): Endpoint[] {
  return services.flatMap((service) => {
    // What has just ended may be stopped in the next turn only.
    if (service.status !== 'active' || service.exit) return [];
    return service.description.ports.flatMap((port): Endpoint[] => {
      const endpoint = {
        name: port.name,
        app: appAddress(apps, service.id, port),
        path: pathAddress(apps, service.id, port),
        published: publishedUrl(service, port, proxyPath(apps, service.id, port) ?? '/'),
      };
      return urlsOf(endpoint).length > 0 ? [endpoint] : [];
    });
  });
}

/** Those through Berth first, since everybody reaches them. */
export const urlsOf = ({ app, path, published }: Endpoint): string[] =>
  [app, path, published].filter((url) => url !== undefined);

/** [name, URL] of each of them (api: execution endpoint item). */
export const endpointPairs = (endpoints: readonly Endpoint[]): [name: string, url: string][] =>
  endpoints.flatMap((endpoint) => urlsOf(endpoint).map((url): [string, string] => [endpoint.name, url]));

function publishedUrl({ hostAddress, ports }: ServiceView, port: Port, path: string): string | undefined {
  const published = ports.find((one) => one.port === port.port_number && one.protocol === port.protocol);
  if (!published || hostAddress === null) return undefined;
  const host = hostAddress.includes(':') ? `[${hostAddress}]` : hostAddress;
  return port.url_template
    .replaceAll('{ip_port}', `${host}:${published.hostPort}`)
    .replaceAll('{proxy_path}', path);
}

/**
 * Whether the execution needs the service to run: the first `essential_count` instances of a group are
 * essential.
 */
export const isEssential = ({
  name,
  group,
  description,
}: Pick<ServiceView, 'name' | 'group' | 'description'>): boolean =>
  Number(name.slice(group.length)) < description.essential_count;

/** Why an execution has ended, in one sentence; the error message has the details of an error. */
export function whyEnded(
  { status, timeStartMs }: Pick<ExecutionView, 'status' | 'timeStartMs'>,
  services: readonly ServiceView[],
): string {
  if (status === 'error') return 'It ended with an error.';
  const finished = services.find(
    ({ description, exit, hasDied }) => description.monitor && exit?.code === 0 && hasDied,
  );
  if (finished) return `Its service ${finished.name} exited with code 0, which ended the execution.`;
  return timeStartMs === null ? 'It was terminated before it ran.' : 'It was terminated.';
}

/** The description of a group within an application. The store has it once, with the execution. */
export function definitionOf(application: Application, group: string): ServiceDescription {
  const definition = application.services.find(({ name }) => name === group);
  if (!definition) throw new Error(`the description has no service ${group}`);
  return definition;
}
