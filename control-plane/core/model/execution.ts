/** Owns what an execution is: its fields, states and how it ends. Pure. */
import type { Service } from './service.ts';

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

/** The end that was decided, carried out once all containers are gone. `queued` is a start that will be tried again. */
export interface Ending {
  status: 'terminated' | 'error' | 'queued';
  message: string | null;
  /** Of `queued`: no start failed, but a host is left. It is tried again at once, and counts as no attempt. */
  moving?: true;
}

export interface Execution {
  readonly id: number;
  readonly name: string;
  readonly userId: number;
  /** The description as submitted, as JSON text: parsed only where a service starts, so that a long queue stays small. */
  readonly description: string;
  /** The description's, for the order of the queue. */
  readonly size: number;
  status: ExecutionStatus;
  ending: Ending | null;
  /** Hidden from the API; the row goes when the containers and logs are gone. */
  deleted: boolean;
  errorMessage: string | null;
  timeSubmitMs: number;
  /** When it had room and left the queue, the last time. */
  timePlaceMs: number | null;
  /** When all essential services had started. */
  timeStartMs: number | null;
  /** When its end was decided. */
  timeStopMs: number | null;
  /** When its containers were gone. */
  timeEndMs: number | null;
  /** Starts that were tried and given up for a while. */
  attempts: number;
  /** Not placed before this time, after a start that failed for a passing reason. */
  retryAtMs: number | null;
  /** In the order of the description. */
  readonly services: Service[];
}

/** The services that must all be placed for the execution to start. */
export const essentialServices = ({ services }: Pick<Execution, 'services'>): Service[] =>
  services.filter(({ essential }) => essential);

export const isEnded = ({ status }: Pick<Execution, 'status'>): boolean =>
  status === 'terminated' || status === 'error';

/** Whether no further start of the service will come: its own end, or that of its execution, is decided. */
export function isOver({ status, ending }: Execution, service: Service): boolean {
  if (status === 'terminated' || status === 'error') return true;
  if (ending) return ending.status !== 'queued';
  return service.monitor && service.exit !== null;
}

export const MAX_BACKOFF_MS = 60_000;

/** Delay before attempt number `attempt` (1 is the first repetition): 1 s, 2 s, 4 s ... at most 60 s. */
export const backoffMs = (attempt: number): number =>
  Math.min(MAX_BACKOFF_MS, 1_000 * 2 ** Math.min(attempt - 1, 10));
