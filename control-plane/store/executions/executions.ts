/** Queries of the API on executions and services. Read-only: the coordinator writes (cluster-rows.ts). */
import type { Application } from '../../../shared/application-schema.ts';
import { expandApplication } from '../../../shared/expand.ts';
import type { ExecutionStatus } from '../../core/model/execution.ts';
import type { BackendStatus, ServiceStatus } from '../../core/model/service.ts';
import type { ServiceStart } from '../../core/model/service-history.ts';
import type { ExecutionFilter } from '../../core/views/execution-filter.ts';
import { definitionOf, type ExecutionView, type ServiceView } from '../../core/views/execution-views.ts';
import type { StartView } from '../../core/views/service-starts.ts';
import { numberOrNull, textOrNull } from '../db/columns.ts';
import type { Db, Row } from '../db/db.ts';
import { firstPage, firstPageOfAll, pagedIds, pagesOf } from '../db/pages.ts';
import { ENDED_SINCE, filterCondition } from './execution-filter-sql.ts';

const executionColumns = (
  ...further: string[]
) => `SELECT e.id, e.name, e.user_id, u.username, e.status, ${further.join(', ')}, e.error_message,
  e.time_submit_ms, e.time_place_ms, e.time_start_ms, e.time_stop_ms, e.time_end_ms, e.time_limit_s,
  e.first_service_id, e.service_count,
  (SELECT json_group_array(s.id) FROM services s WHERE s.execution_id = e.id) AS service_ids
  FROM executions e JOIN users u ON u.id = e.user_id`;
const EXECUTION_VIEW = executionColumns('e.description');
/** What follows the page, in its last row. */
const MORE = 'CASE WHEN e.id = (SELECT max(id) FROM page) THEN (SELECT more FROM rest) END AS more';
const BY_ID = 'WHERE e.id = ? AND e.deleted = 0 LIMIT 1';
const EXECUTION_BY_ID = `${EXECUTION_VIEW} ${BY_ID}`;
/** Null if it is longer. */
const SHORT_DESCRIPTION = 'CASE WHEN octet_length(e.description) <= ? THEN e.description END AS description';
const SHORT_EXECUTION_BY_ID = `${executionColumns(SHORT_DESCRIPTION)} ${BY_ID}`;

export async function findExecution(db: Db, id: number): Promise<ExecutionView | undefined> {
  const [row] = await db.query(EXECUTION_BY_ID, [id]);
  return row && executionView(row);
}

/** Something with a description that is longer than the reader wanted. */
export interface Long {
  userId: number;
  isLong: true;
}

/** The execution, if its description has at most `maxLength` characters. */
export async function findShortExecution(
  db: Db,
  id: number,
  maxLength: number,
): Promise<ExecutionView | Long | undefined> {
  const [row] = await db.query(SHORT_EXECUTION_BY_ID, [maxLength, id]);
  return row && (row.description === null ? longOf(row) : executionView(row));
}

const longOf = (row: Row): Long => ({ userId: Number(row.user_id), isLong: true });

/** Matching executions, oldest first, in pages. The first one takes one round trip. */
export async function* listExecutions(db: Db, filter: ExecutionFilter): AsyncGenerator<ExecutionView[]> {
  const { sql, args } = filterCondition(filter);
  // Which ones are the newest is decided once: others may be submitted before the next page.
  const page = filter.limit === undefined ? firstPage(sql) : firstPageOfAll(sql);
  const first = await db.query(
    `${page} ${executionColumns('e.description', MORE)} WHERE e.id IN (SELECT id FROM page) ORDER BY e.id`,
    args,
  );
  yield first.map(executionView);
  const { id = 0, more = 0 } = first.at(-1) ?? {};
  if (more === 0) return;
  const pages =
    typeof more === 'string'
      ? pagesOf(JSON.parse(more))
      : await pagedIds(db, `id > ? AND ${sql}`, [Number(id), ...args]);
  for (const ids of pages) {
    const rows = await db.query(
      `${EXECUTION_VIEW} WHERE e.id IN (SELECT value FROM json_each(?)) AND e.deleted = 0 ORDER BY e.id`,
      [JSON.stringify(ids)],
    );
    yield rows.map(executionView);
  }
}

/** Ids of executions that started after `sinceMs`, and have ended or are ending. */
export async function listEndedSince(db: Db, sinceMs: number): Promise<number[]> {
  const rows = await db.query(ENDED_SINCE, [sinceMs, sinceMs, sinceMs]);
  return rows.map(({ id }) => Number(id));
}

/** Owner and state of an execution. */
export type ExecutionState = Pick<ExecutionView, 'userId' | 'status' | 'errorMessage' | 'timeStartMs'>;

/** For authorisation, without the description, which may be long. */
export async function findState(db: Db, executionId: number): Promise<ExecutionState | undefined> {
  const [row] = await db.query(STATE_BY_ID, [executionId]);
  return (
    row && {
      userId: Number(row.user_id),
      status: String(row.status) as ExecutionStatus,
      errorMessage: textOrNull(row.error_message),
      timeStartMs: numberOrNull(row.time_start_ms),
    }
  );
}

const STATE_BY_ID = `SELECT user_id, status, error_message, time_start_ms FROM executions
  WHERE id = ? AND deleted = 0 LIMIT 1`;

const SERVICE_COLUMNS = `s.id, s.execution_id, e.user_id, e.status AS execution_status, e.time_start_ms, s.name,
  s.service_group, s.status, s.backend_status, s.ip_address, s.backend_id, s.error_message, s.exit, s.deaths_ms,
  s.ports, s.generation, s.history ->> '$[#-1].hasEndedExecution' AS has_ended_execution,
  s.history ->> '$[#-1].reason' AS stop_reason,
  CASE WHEN s.status = 'inactive' AND e.status IN ('starting', 'running') THEN s.restart_at_ms END AS restart_at_ms,
  COALESCE(h.removed_name, h.name) AS host, h.address,
  CASE WHEN h.removed_ms IS NULL THEN h.id END AS host_id`;
const SERVICES = `FROM services s JOIN executions e ON e.id = s.execution_id LEFT JOIN hosts h ON h.id = s.host_id
  WHERE e.deleted = 0`;

const SERVICE_BY_ID = `SELECT ${SERVICE_COLUMNS}, s.history, ${SHORT_DESCRIPTION} ${SERVICES} AND s.id = ? LIMIT 1`;

export async function findService(db: Db, id: number): Promise<ServiceView | undefined> {
  const found = await findShortService(db, id, Number.MAX_SAFE_INTEGER);
  return found && 'isLong' in found ? undefined : found;
}

/** The service, if the description of its execution has at most `maxLength` characters. */
export async function findShortService(
  db: Db,
  id: number,
  maxLength: number,
): Promise<ServiceView | Long | undefined> {
  // At once, for one round trip.
  const [[row], [owner]] = await Promise.all([
    db.query(SERVICE_BY_ID, [maxLength, id]),
    db.query(UNPLACED_BY_SERVICE, [maxLength, id, id]),
  ]);
  if (row)
    return row.description === null
      ? longOf(row)
      : serviceView(row, JSON.parse(String(row.description)) as Application);
  if (!owner) return undefined;
  if (owner.description === null) return longOf(owner);
  return unplacedViews(executionView(owner)).find((service) => service.id === id);
}

/** The execution of a service that has no row, because none of its execution was placed so far. */
const UNPLACED_BY_SERVICE = `${executionColumns(SHORT_DESCRIPTION)} WHERE e.deleted = 0
  AND e.id = (SELECT id FROM executions WHERE first_service_id <= ? ORDER BY first_service_id DESC LIMIT 1)
  AND e.first_service_id + e.service_count > ? LIMIT 1`;

const OWNER_OF_SERVICE = `SELECT id, first_service_id + service_count AS next, status FROM executions
  WHERE first_service_id <= ? ORDER BY first_service_id DESC LIMIT 1`;

/** The rows of an execution's services: none before its first placement. */
export const findServiceRows = (db: Db, executionId: number): Promise<Row[]> =>
  db.query(`SELECT ${SERVICE_COLUMNS} ${SERVICES} AND s.execution_id = ? ORDER BY s.id`, [executionId]);

/** The last starts of an execution's services, the latest first: `limit` of them at most. */
export async function listStarts(db: Db, executionId: number, limit: number): Promise<StartView[]> {
  const rows = await db.query(
    `SELECT s.id, s.name, j.value AS start FROM services s JOIN executions e ON e.id = s.execution_id,
        json_each(s.history) j
      WHERE s.execution_id = ? AND e.deleted = 0
      ORDER BY j.value ->> '$.startMs' DESC, s.id DESC, j.key DESC LIMIT ?`,
    [executionId, limit],
  );
  return rows.map(({ id, name, start }) => ({
    ...(JSON.parse(String(start)) as ServiceStart),
    serviceId: Number(id),
    service: String(name),
  }));
}

/** The services of `findServiceRows`. Reads the description once, since it may be long. */
export function servicesOf(execution: ExecutionView, rows: readonly Row[]): ServiceView[] {
  if (rows.length === 0) return unplacedViews(execution);
  const application = JSON.parse(execution.description) as Application;
  return rows.map((row) => serviceView(row, application));
}

/**
 * Names of the active instances of a group, or of all groups, in order; undefined if there is no such
 * execution.
 */
export async function listActiveInstances(
  db: Db,
  executionId: number,
  group: string | undefined,
): Promise<string[] | undefined> {
  if ((await findState(db, executionId)) === undefined) return undefined;
  const rows = await db.query(
    `SELECT name FROM services WHERE execution_id = ?${group === undefined ? '' : ' AND service_group = ?'} AND
      status = 'active' AND exit IS NULL ORDER BY id`,
    group === undefined ? [executionId] : [executionId, group],
  );
  return rows.map(({ name }) => String(name));
}

interface LogLocation {
  executionId: number;
  hostId: number | null;
  hostName: string;
  generation: number;
  hasEnded: boolean;
  /** The host is part of the cluster. */
  hasHost: boolean;
}

/**
 * The host with the logs of a service, the number of starts, and whether the execution has ended. Includes
 * deleted executions.
 */
export async function findLogLocation(db: Db, serviceId: number): Promise<LogLocation | null> {
  const [row] = await db.query(
    `SELECT s.execution_id, s.host_id, s.generation, COALESCE(h.removed_name, h.name) AS name, e.status,
        h.id IS NOT NULL AND h.removed_ms IS NULL AS has_host
      FROM services s JOIN executions e ON e.id = s.execution_id LEFT JOIN hosts h ON h.id = s.host_id
      WHERE s.id = ?`,
    [serviceId],
  );
  const hasEnded = (status: Row[string] | undefined) => status === 'terminated' || status === 'error';
  if (row) {
    const hostId = numberOrNull(row.host_id);
    const { execution_id, name, generation, status, has_host } = row;
    const host = { hostId, hostName: String(name), hasHost: has_host === 1 };
    const start = { executionId: Number(execution_id), generation: Number(generation) };
    return { ...start, ...host, hasEnded: hasEnded(status) };
  }
  const [owner] = await db.query(OWNER_OF_SERVICE, [serviceId]);
  if (!owner || Number(owner.next) <= serviceId) return null;
  const nowhere = { hostId: null, hostName: '', hasHost: false, generation: 0 };
  return { executionId: Number(owner.id), ...nowhere, hasEnded: hasEnded(owner.status) };
}

const executionView = (row: Row): ExecutionView => ({
  id: Number(row.id),
  name: String(row.name),
  userId: Number(row.user_id),
  userName: String(row.username),
  status: String(row.status) as ExecutionStatus,
  description: String(row.description),
  errorMessage: textOrNull(row.error_message),
  timeSubmitMs: Number(row.time_submit_ms),
  timePlaceMs: numberOrNull(row.time_place_ms),
  timeStartMs: numberOrNull(row.time_start_ms),
  timeStopMs: numberOrNull(row.time_stop_ms),
  timeEndMs: numberOrNull(row.time_end_ms),
  timeLimitS: numberOrNull(row.time_limit_s),
  serviceIds: serviceIdsOf(row),
});

/** An execution has rows of services from its first placement on. Their ids are fixed before. */
function serviceIdsOf(row: Row): number[] {
  if (row.service_ids !== '[]') return JSON.parse(String(row.service_ids));
  const first = Number(row.first_service_id);
  return Array.from({ length: Number(row.service_count) }, (_, at) => first + at);
}

/** The services of an execution none of which was placed so far. */
function unplacedViews(execution: ExecutionView): ServiceView[] {
  const { id: executionId, userId, description, serviceIds } = execution;
  const application = JSON.parse(description) as Application;
  return expandApplication(application).map(({ name, group, definition }, at) => ({
    ...UNPLACED,
    id: serviceIds[at] ?? 0,
    executionId,
    userId,
    name,
    group,
    description: definition,
    share: application.share,
    execution: { status: execution.status, timeStartMs: execution.timeStartMs },
  }));
}

const UNPLACED = {
  status: 'inactive',
  backendStatus: 'undefined',
  ipAddress: null,
  containerId: null,
  errorMessage: null,
  exit: null,
  hasDied: false,
  ports: [],
  hostName: null,
  hostId: null,
  hostAddress: null,
  starts: 0,
  restartAtMs: null,
  hasEndedExecution: false,
} as const;

const serviceView = (row: Row, application: Application): ServiceView => ({
  id: Number(row.id),
  executionId: Number(row.execution_id),
  userId: Number(row.user_id),
  execution: {
    status: String(row.execution_status) as ExecutionStatus,
    timeStartMs: numberOrNull(row.time_start_ms),
  },
  name: String(row.name),
  group: String(row.service_group),
  status: String(row.status) as ServiceStatus,
  backendStatus: String(row.backend_status) as BackendStatus,
  ipAddress: textOrNull(row.ip_address),
  containerId: textOrNull(row.backend_id),
  errorMessage: textOrNull(row.error_message),
  exit: typeof row.exit === 'string' ? JSON.parse(row.exit) : null,
  hasDied: row.exit !== null && row.deaths_ms !== '[]' && row.stop_reason === null,
  ports: JSON.parse(String(row.ports)),
  hostName: textOrNull(row.host),
  hostId: numberOrNull(row.host_id),
  hostAddress: textOrNull(row.address),
  starts: Number(row.generation),
  restartAtMs: numberOrNull(row.restart_at_ms),
  hasEndedExecution: row.has_ended_execution === 1,
  ...(typeof row.history === 'string' && { history: JSON.parse(row.history) as ServiceStart[] }),
  share: application.share,
  description: definitionOf(application, String(row.service_group)),
});
