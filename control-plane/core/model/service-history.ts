/** The history of a service: its last starts, each with its host, its times and how it ended. Pure. */
import { cutText } from '../../../shared/protocol/bounds.ts';
import type { Observation } from '../../../shared/protocol/up.ts';

/** Starts of a service that are kept. */
export const MAX_STARTS = 20;
const MAX_REASON_LENGTH = 300;

export interface Exit {
  /** Null if the container vanished without an exit code. */
  code: number | null;
  outOfMemory: boolean;
  memoryKill?: Extract<Observation, { state: 'exited' }>['memoryKill'];
  /** What the last health check has found, if the container still ran and its health ended the start. */
  unhealthy?: string;
}

/** One start. All times are of the control plane: of its decision, and of the reports that it received. */
export interface ServiceStart {
  generation: number;
  /** The name that the host had. */
  host: string;
  startMs: number;
  /** When its container ran; null if it never did. */
  runMs: number | null;
  endMs: number | null;
  /** Null if it has not ended, or has ended without an exit code. */
  exitCode: number | null;
  outOfMemory: boolean;
  /** Why it was stopped or did not start; null if its exit is all that is known. */
  reason: string | null;
  /** Whether its end has decided that of the execution. */
  hasEndedExecution: boolean;
}

interface Recorded {
  history: readonly ServiceStart[];
}

/** How a start ended, where that is known. */
export interface StartEnd {
  exit?: Exit;
  reason?: string | undefined;
}

/** Begins the start `generation`. An earlier one whose end was not reported ends then. */
export function recordStart(service: Recorded, generation: number, host: string, nowMs: number): void {
  recordEnd(service, {}, nowMs);
  const start: ServiceStart = {
    generation,
    host,
    startMs: nowMs,
    runMs: null,
    endMs: null,
    exitCode: null,
    outOfMemory: false,
    reason: null,
    hasEndedExecution: false,
  };
  service.history = [...service.history.slice(1 - MAX_STARTS), start];
}

export function recordRun(service: Recorded, nowMs: number): void {
  const last = service.history.at(-1);
  if (last?.runMs === null && last.endMs === null) change(service, { runMs: Math.max(nowMs, last.startMs) });
}

/** Ends the last start. A start ends once: what follows the first report of its end changes nothing. */
export function recordEnd(service: Recorded, { exit, reason }: StartEnd, nowMs: number): void {
  const last = service.history.at(-1);
  if (last?.endMs !== null) return;
  const why = exit?.unhealthy ?? reason;
  change(service, {
    endMs: Math.max(nowMs, last.runMs ?? last.startMs),
    exitCode: exit?.code ?? null,
    outOfMemory: exit?.outOfMemory ?? false,
    reason: why === undefined ? null : cutText(why, MAX_REASON_LENGTH),
  });
}

/** The end of its last start has decided that of the execution. */
export function recordCause(service: Recorded): void {
  change(service, { hasEndedExecution: true });
}

/** Histories are values: rows and views may hold an earlier one. */
function change(service: Recorded, changes: Partial<ServiceStart>): void {
  const last = service.history.at(-1);
  if (last) service.history = [...service.history.slice(0, -1), { ...last, ...changes }];
}
