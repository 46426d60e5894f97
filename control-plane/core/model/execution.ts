/** Executions: fields, states and how they end. Pure. */
import type { ResourceDemand } from './resources.ts';
import { hasFinished, type Service } from './service.ts';

export const executionStatuses = [
  'submitted',
  'queued',
  'starting',
  'running',
  'cleaning up',
  'terminated',
  'error',
] as const;
export type ExecutionStatus = (typeof executionStatuses)[number];

/** The decided end, carried out once all containers are gone. `queued`: the start will be tried again. */
export interface Ending {
  status: 'terminated' | 'error' | 'queued';
  message: string | null;
  /**
   * For `queued`: no start failed, but the execution leaves a host. It is tried again at once, and this does
   * not count as an attempt.
   */
  moving?: true;
}

export interface Execution {
  readonly id: number;
  readonly name: string;
  readonly userId: number;
  /** The submitted description as JSON text; null while the services are not in memory. */
  description: string | null;
  /** Length of the description as UTF-8. */
  readonly descriptionBytes: number;
  /** The services have the ids from this one on, without a gap. */
  readonly firstServiceId: number;
  readonly serviceCount: number;
  /** False until a service is placed for the first time: its services then have no rows. */
  hasServiceRows: boolean;
  /** What the essential services require; one object for all equal demands of live executions. */
  demand: ResourceDemand;
  /** From the description; orders the queue. */
  readonly size: number;
  status: ExecutionStatus;
  ending: Ending | null;
  /** Hidden from the API. The row is deleted when the containers and logs are gone. */
  deleted: boolean;
  errorMessage: string | null;
  timeSubmitMs: number;
  /** When it was last placed and left the queue. */
  timePlaceMs: number | null;
  /** When all essential services had started. */
  timeStartMs: number | null;
  /** When its end was decided. */
  timeStopMs: number | null;
  /** When its containers were gone. */
  timeEndMs: number | null;
  /** Failed starts after which it returned to the queue. */
  attempts: number;
  /** Not placed before this time, after a start that failed temporarily. */
  retryAtMs: number | null;
  /** How long it may last from its placement on; null: for ever. */
  timeLimitS: number | null;
  /** In the order of the description. Empty while the execution waits: see `isLoaded`. */
  services: readonly Service[];
}

/**
 * Whether description and services are in memory. An execution that waits has neither, so that it costs the
 * same whatever its description contains (COORD-5).
 */
export const isLoaded = ({ services, serviceCount }: Execution): boolean => services.length === serviceCount;

/**
 * What its start counts under the bound on placed instances (C173). The description is in memory until the
 * end, so it counts as many as it has KiB if the services count fewer.
 */
export const weightOf = (execution: Pick<Execution, 'demand' | 'descriptionBytes'>): number =>
  execution.demand.weight + textWeightOf(execution);

/** What the execution counts beside its essential services. */
export const textWeightOf = ({ demand, descriptionBytes }: Pick<Execution, 'demand' | 'descriptionBytes'>) =>
  Math.max(0, Math.floor(descriptionBytes / 1024) - demand.weight);

/**
 * What counts under the bound on the descriptions of a user's executions that wait (H357). The description is
 * in the database only, but the needs are in memory.
 */
export const waitingBytesOf = ({
  demand,
  descriptionBytes,
}: Pick<Execution, 'demand' | 'descriptionBytes'>) =>
  descriptionBytes + NEED_FACTOR * Math.max(0, demand.heapBytes - FREE_NEED_BYTES);

/** Few applications have needs of more. */
const FREE_NEED_BYTES = 1024;
/** All needs of a user take at most this part of the bound. */
const NEED_FACTOR = 16;

/** The services that must all be placed for the execution to start. */
export const essentialServices = ({ services }: Pick<Execution, 'services'>): Service[] =>
  services.filter(({ essential }) => essential);

export const isEnded = ({ status }: Pick<Execution, 'status'>): boolean =>
  status === 'terminated' || status === 'error';

/** Whether the service will never start again: its own end, or that of its execution, is decided. */
export function isOver({ status, ending }: Execution, service: Service): boolean {
  if (status === 'terminated' || status === 'error') return true;
  if (ending) return ending.status !== 'queued';
  return hasFinished(service);
}

export const MAX_BACKOFF_MS = 60_000;

/** Delay before retry number `attempt`, counted from 1: 1 s, 2 s, 4 s ... at most 60 s. */
export const backoffMs = (attempt: number): number =>
  Math.min(MAX_BACKOFF_MS, 1_000 * 2 ** Math.min(attempt - 1, 10));
