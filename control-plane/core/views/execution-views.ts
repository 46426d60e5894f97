/** Owns what the API shows of executions and services, before a variant gives it its words. Pure. */
import type { Application, ServiceDescription } from '../../../shared/application.ts';
import type { ExecutionStatus } from '../model/execution.ts';
import type { BackendStatus, Service, ServiceStatus } from '../model/service.ts';

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
  serviceIds: readonly number[];
}

/** What a list shows of an execution, without its description. */
export interface ExecutionLine
  extends Pick<
    ExecutionView,
    'id' | 'name' | 'userName' | 'status' | 'timeSubmitMs' | 'timeStartMs' | 'timeEndMs'
  > {
  /** The name that its description gives the application. */
  application: string;
  /** The beginning of why it ended with an error. */
  error: string | null;
  services: number;
  activeServices: number;
}

export interface ServiceView {
  id: number;
  executionId: number;
  /** Owner of the execution. */
  userId: number;
  name: string;
  group: string;
  status: ServiceStatus;
  backendStatus: BackendStatus;
  ipAddress: string | null;
  containerId: string | null;
  errorMessage: string | null;
  /** How its last container ended. */
  exit: Service['exit'];
  /** Whether that was unasked for. */
  hasDied: boolean;
  ports: Service['ports'];
  hostName: string | null;
  hostAddress: string | null;
  /** Starts so far, over all hosts. */
  starts: number;
  description: ServiceDescription;
  /** What its host does towards its start, where that is asked for and known. */
  progress?: string;
}

/** [name, URL] of each published port of each active service. */
export function endpointsOf(services: readonly ServiceView[]): [name: string, url: string][] {
  return services.flatMap((service) => {
    const { status, hostAddress, description } = service;
    if (status !== 'active' || hostAddress === null) return [];
    return description.ports.flatMap((port): [string, string][] => {
      const published = service.ports.find(
        (one) => one.port === port.port_number && one.protocol === port.protocol,
      );
      if (!published) return [];
      const host = hostAddress.includes(':') ? `[${hostAddress}]` : hostAddress;
      const url = port.url_template
        .replaceAll('{ip_port}', `${host}:${published.hostPort}`)
        .replaceAll('{proxy_path}', '/');
      return [[port.name, url]];
    });
  });
}

/** Whether the execution can't run without the service: the first `essential_count` instances of a group are essential. */
export const isEssential = ({
  name,
  group,
  description,
}: Pick<ServiceView, 'name' | 'group' | 'description'>): boolean =>
  Number(name.slice(group.length)) < description.essential_count;

/** Why an execution has ended, in a sentence; of an error its message says more. */
export function whyEnded(
  { status, timeStartMs }: Pick<ExecutionView, 'status' | 'timeStartMs'>,
  services: readonly ServiceView[],
): string {
  if (status === 'error') return 'It ended with an error.';
  const done = services.find(
    ({ description, exit, hasDied }) => description.monitor && exit?.code === 0 && hasDied,
  );
  if (done) return `Its service ${done.name} was done (exit code 0), which ends it.`;
  return timeStartMs === null ? 'It was terminated before it ran.' : 'It was terminated.';
}

/** The description of a group within an application; the store keeps it once, with the execution. */
export function definitionOf(application: Application, group: string): ServiceDescription {
  const definition = application.services.find(({ name }) => name === group);
  if (!definition) throw new Error(`the description has no service ${group}`);
  return definition;
}
