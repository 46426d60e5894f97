/** Services: one container each, with fields, states, and the words that describe an end. Pure. */
import type { ServiceDescription } from '../../../shared/application-schema.ts';
import type { Observation } from '../../../shared/protocol/up.ts';
import type { Requirement } from './resources.ts';
import type { Exit, ServiceStart } from './service-history.ts';

export const serviceStatuses = ['inactive', 'starting', 'active', 'terminating'] as const;
export type ServiceStatus = (typeof serviceStatuses)[number];
export const backendStatuses = ['undefined', 'created', 'started', 'dead', 'destroyed'] as const;
export type BackendStatus = (typeof backendStatuses)[number];

export interface Failure {
  temporary: boolean;
  message: string;
}

type PublishedPort = Extract<Observation, { state: 'running' }>['ports'][number];

export interface Service {
  readonly id: number;
  readonly executionId: number;
  /** `<group><counter>`. */
  readonly name: string;
  readonly group: string;
  readonly essential: boolean;
  readonly monitor: boolean;
  readonly startupOrder: number;
  readonly requirement: Requirement;
  /** Whether it is active only once its host has reported it as healthy. */
  readonly isChecked: boolean;
  /** Null: the default. */
  readonly restart: RestartPolicy | null;
  status: ServiceStatus;
  backendStatus: BackendStatus;
  /** The host of the current or last start. It is kept after the end, since the logs are there. */
  hostId: number | null;
  /** True while `requirement` is reserved on the host. */
  placed: boolean;
  /** Starts so far. Id and generation together name one container (PROTOCOL.md P5). */
  generation: number;
  containerId: string | null;
  ipAddress: string | null;
  ports: readonly PublishedPort[];
  /** Set when the container of this generation ended or could not start. The next generation clears it. */
  exit: Exit | null;
  failure: Failure | null;
  /** Times of recent unwanted ends, for the limit on restarts. */
  deathsMs: readonly number[];
  restartAtMs: number | null;
  errorMessage: string | null;
  /** Its last starts, the oldest first. */
  history: readonly ServiceStart[];
  /**
   * What the host does to start the service, such as the progress of a pull, and what the last health check
   * has found while the service is not yet healthy. Empty if the host has not reported any. In memory only.
   */
  preparing: string;
  /**
   * `forgetting`: the host was sent the command to remove the logs. In memory only, and sent again after a
   * reconnect.
   */
  logs: 'kept' | 'forgetting' | 'forgotten';
}

/** How often a service that dies is started again, as its description states it. */
export interface RestartPolicy {
  /** Deaths within the window that do not end the execution. */
  attempts: number;
  windowMs: number;
  /** Before each restart. Null: growing. */
  delayMs: number | null;
}

const DEFAULT_WINDOW_MS = 10 * 60_000;
const DEFAULT_RESTART: RestartPolicy = { attempts: 5, windowMs: DEFAULT_WINDOW_MS, delayMs: null };

export const restartPolicyOf = ({ restart }: Pick<Service, 'restart'>): RestartPolicy =>
  restart ?? DEFAULT_RESTART;

export const restartOf = ({ restart }: Pick<ServiceDescription, 'restart'>): RestartPolicy | null =>
  restart
    ? {
        attempts: restart.attempts,
        windowMs: restart.window === undefined ? DEFAULT_WINDOW_MS : restart.window * 1_000,
        delayMs: restart.delay === undefined ? null : restart.delay * 1_000,
      }
    : null;

/** Times of the unwanted ends that count at `nowMs`. */
export const recentDeaths = (service: Pick<Service, 'deathsMs' | 'restart'>, nowMs: number): number[] =>
  service.deathsMs.filter((timeMs) => timeMs > nowMs - restartPolicyOf(service).windowMs);

/**
 * Whether the service has died more often than its policy allows. Elastic services have no limit (C66), and a
 * monitor without a policy is never started again (C10).
 */
export function hasExceededRestarts(service: Service, nowMs: number): boolean {
  const isLimited = service.monitor ? service.restart !== null : service.essential;
  return isLimited && recentDeaths(service, nowMs).length > restartPolicyOf(service).attempts;
}

/** Whether its container has ended in a way that decides the end of the execution, whatever follows. */
export const hasFinished = ({ monitor, exit, restart }: Pick<Service, 'monitor' | 'exit' | 'restart'>) =>
  monitor && exit !== null && (exit.code === 0 || restart === null);

const SIGNALS: Record<number, string> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  3: 'SIGQUIT',
  4: 'SIGILL',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  13: 'SIGPIPE',
  14: 'SIGALRM',
  15: 'SIGTERM',
  24: 'SIGXCPU',
  25: 'SIGXFSZ',
  31: 'SIGSYS',
};

const KILLED = 137;

/**
 * A clause for people, such as `service worker0 ended with exit code 137 (out of memory)`. Engines do not
 * always report that a lack of memory caused a SIGKILL.
 */
export function describeExit(service: Pick<Service, 'name'>, exit: Exit): string {
  if (exit.unhealthy !== undefined) return `service ${service.name} was unhealthy: ${exit.unhealthy}`;
  if (exit.code === null) return `the container of service ${service.name} was removed from outside Berth`;
  const reason = exit.outOfMemory ? 'out of memory' : reasonOf(exit.code, exit.memoryKill);
  return `service ${service.name} ended with exit code ${exit.code}${reason ? ` (${reason})` : ''}`;
}

function reasonOf(code: number, memoryKill: Exit['memoryKill']): string {
  const signal = SIGNALS[code - 128];
  const cause = signal && `killed by ${signal}`;
  const doubt = code === KILLED && memoryKill === undefined && 'perhaps out of memory';
  const other = memoryKill === 'other-process' && 'one of its processes was killed for lack of memory before';
  return [cause, doubt, other].filter(Boolean).join(', ');
}

/** A message for people while the container is paused. */
export const pausedText = ({ name }: Pick<Service, 'name'>): string =>
  `the container of service ${name} is paused, from outside Berth: it does nothing until an administrator of its host runs docker unpause`;

/** True while the container of a preempted or evicted service is still there. */
export const isPreempted = ({ placed, status }: Pick<Service, 'placed' | 'status'>): boolean =>
  !placed && status !== 'inactive';

/** True while a container of the service exists, or may come to exist, on its host. */
export const isAssigned = ({ status }: Pick<Service, 'status'>): boolean =>
  status === 'starting' || status === 'active';

/** What its host does to start it; empty if the host has not reported any, or the service is not starting. */
export const progressOf = (service: Service | undefined): string =>
  service?.status === 'starting' ? service.preparing : '';
