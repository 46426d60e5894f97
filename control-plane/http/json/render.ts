/**
 * Renders the JSON of the API: the only place where fields get their snake_case names and errors become
 * responses.
 */
import { type ErrorCode, OperationError } from '../../core/model/errors.ts';
import type { ServiceStart } from '../../core/model/service-history.ts';
import type { AwakeTotals } from '../../core/views/awake-totals.ts';
import type { ExecutionView, ServiceView } from '../../core/views/execution-views.ts';
import { exitText } from '../../core/views/service-starts.ts';
import type { SchedulerStatistics } from '../../core/views/statistics.ts';
import { DatabaseError, LOCKED } from '../../store/db/db.ts';
import type { Statuses, Words } from '../words.ts';
import type { ExecutionJson, StatisticsJson } from './schemas.ts';
import type { ServiceJson, StartJson } from './service-schemas.ts';

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };

/** A success whose JSON text exists already. */
export const jsonText = (text: string, status = 200): Response =>
  new Response(text, { status, headers: JSON_HEADERS });
export const json = (value: unknown, status = 200): Response => jsonText(JSON.stringify(value), status);
export const empty = (status = 200): Response => new Response(null, { status });

/**
 * JSON text of an execution. The description is inserted as stored: it may be long and is never parsed here.
 */
export function executionText(
  execution: ExecutionView,
  words: Words,
  further: Pick<ExecutionJson, 'time_limit' | 'waiting_for'> = {},
): string {
  const head: Omit<ExecutionJson, 'description'> = {
    id: execution.id,
    name: execution.name,
    user_id: words.userIdOf(execution),
    status: words.statusOf(execution.status),
    error_message: execution.status === 'error' ? execution.errorMessage : null,
    time_submit: execution.timeSubmitMs / 1_000,
    time_start: secondsOf(execution.timeStartMs),
    time_end: secondsOf(execution.timeEndMs),
    services: execution.serviceIds,
    ...further,
  };
  return `${JSON.stringify(head).slice(0, -1)},"description":${execution.description}}`;
}

/** Whether the container of the last start is still there: another one may have its address later. */
export const hasContainer = ({ backendStatus }: Pick<ServiceView, 'backendStatus'>): boolean =>
  backendStatus === 'created' || backendStatus === 'started';

export const serviceJson = (service: ServiceView): ServiceJson => ({
  id: service.id,
  name: service.name,
  service_group: service.group,
  execution_id: service.executionId,
  status: service.status,
  backend_status: service.backendStatus,
  ip_address: (hasContainer(service) && service.ipAddress) || '',
  backend_id: (hasContainer(service) && service.containerId) || '',
  error_message: service.errorMessage,
  description: service.description,
  ...(service.progress === undefined ? {} : { progress: service.progress }),
});

export const startJson = (start: ServiceStart): StartJson => ({
  start: start.generation,
  host: start.host,
  time_start: start.startMs / 1_000,
  time_run: secondsOf(start.runMs),
  time_end: secondsOf(start.endMs),
  exit_code: start.exitCode,
  reason: exitText(start),
  ended_execution: start.hasEndedExecution,
});

export const schedulerJson = ({
  queue,
  running,
  cleaningUp,
  hosts,
  history,
  awake,
}: SchedulerStatistics): StatisticsJson => ({
  termination_threads_count: cleaningUp,
  queue_length: queue.executions,
  queue: { executions: queue.executions, oldest_submit: secondsOf(queue.oldestSubmitMs) },
  running,
  hosts: {
    known: hosts.known,
    connected: hosts.connected,
    schedulable: hosts.schedulable,
    memory_total: hosts.memoryBytes,
    memory_reserved: hosts.reservedMemoryBytes,
    cores_total: hosts.cores,
    cores_reserved: hosts.reservedCores,
  },
  history: {
    keep_ended_days: history.keepEndedDays,
    removed: history.removed,
    reviewed: secondsOf(history.reviewedMs),
  },
  awake: awake && {
    coordinator: awakeJson(awake.coordinator),
    gateways: awake.gateways && awakeJson(awake.gateways),
  },
});

const awakeJson = ({ sinceMs, wakes, awakeMs, memoryMs }: AwakeTotals) => ({
  since: sinceMs / 1_000,
  wakes,
  awake: awakeMs / 1_000,
  in_memory: memoryMs / 1_000,
});

export const secondsOf = (ms: number | null) => (ms === null ? null : ms / 1_000);

const STATUS: Record<Exclude<ErrorCode, 'forbidden'>, number> = {
  invalid: 400,
  unauthenticated: 401,
  'bad-token': 401,
  'unknown-host': 401,
  revoked: 403,
  'not-found': 404,
  'wrong-method': 405,
  conflict: 409,
  'too-large': 413,
  'other-request': 422,
  'no-websocket': 426,
  'too-many': 429,
  unavailable: 503,
};

/** For programs: errors that an agent must react to. */
const REASONS: Partial<Record<ErrorCode, string>> = { revoked: 'revoked', 'unknown-host': 'unknown-host' };

/** The error to report to the caller; undefined for an unforeseen one, whose text stays internal. */
export function toOperationError(error: unknown): OperationError | undefined {
  if (error instanceof OperationError) return error;
  if (error instanceof DatabaseError && error.kind === 'unavailable') {
    const message = error.isLocked ? LOCKED : 'The database does not answer; try again later.';
    return new OperationError('unavailable', message, { cause: error });
  }
  return undefined;
}

/** The response to `error`; an unforeseen one is a 500 without its text. */
export function errorResponse(raised: OperationError | undefined, variant: Statuses): Response {
  const error = raised && (variant.errorFor?.(raised) ?? raised);
  const status = statusOf(error, variant);
  const message = error?.message ?? 'Berth failed to handle this request; its log has the reason.';
  const body = {
    code: error?.code ?? 'internal',
    message,
    problems: error?.details,
    reason: error && REASONS[error.code],
  };
  const text = variant.errorBody ? JSON.stringify(body) : null;
  const headers: Record<string, string> =
    text === null ? { 'cache-control': 'no-store' } : { ...JSON_HEADERS };
  if (error && status === 401) headers['www-authenticate'] = challenge(error.code);
  if (status === 426) headers.upgrade = 'websocket';
  const retryS = retryAfterS(error, status);
  if (retryS !== undefined) headers['retry-after'] = String(retryS);
  if (!variant.statusHeader) return new Response(text, { status, headers });
  headers.status = headerText(message);
  return new Response(text, { status, statusText: headers.status, headers });
}

/** When to retry, if a retry can help. */
export const retryAfterS = (error: OperationError | undefined, status: number): number | undefined =>
  error?.retryAfterS ?? (status === 503 ? 1 : undefined);

/** The HTTP status of `error`; 500 if it was not foreseen. */
export function statusOf(
  error: OperationError | undefined,
  { forbidden }: Pick<Statuses, 'forbidden'>,
): number {
  if (!error) return 500;
  return error.code === 'forbidden' ? forbidden : STATUS[error.code];
}

/** How to authenticate (RFC 7617), or what is wrong with the token (RFC 6750). */
const challenge = (code: ErrorCode): string =>
  code === 'bad-token' || code === 'unknown-host'
    ? 'Bearer realm="berth", error="invalid_token"'
    : 'Basic realm="berth", charset="UTF-8"';

/** Printable ASCII on one line, at most 256 characters. */
const headerText = (message: string) =>
  message
    .replace(/[^ -~]+/g, '?')
    .slice(0, 256)
    .trim();
