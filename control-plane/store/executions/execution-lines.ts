/** Queries for the web page of executions: one page of lines, and the number of executions in each state. */
import type { ExecutionStatus } from '../../core/model/execution.ts';
import type { ExecutionFilter } from '../../core/views/execution-filter.ts';
import type { ExecutionLine } from '../../core/views/execution-views.ts';
import type { Db, Row } from '../db/db.ts';
import { filterCondition } from './execution-filter-sql.ts';

/** Length of an error in the list; the page of the execution shows all of it. */
const MAX_ERROR_LENGTH = 200;

/** Matching executions, newest first. Parses only the descriptions of these. */
export async function listExecutionLines(db: Db, filter: ExecutionFilter): Promise<ExecutionLine[]> {
  const { sql, args } = filterCondition(filter);
  const rows = await db.query(
    `SELECT e.id, e.name, u.username, e.status, json_extract(e.description, '$.name') AS application,
      CASE e.status WHEN 'error' THEN substr(e.error_message, 1, ${MAX_ERROR_LENGTH}) END AS error,
      e.time_submit_ms, e.time_start_ms, e.time_end_ms,
      COALESCE(e.service_count, (SELECT count(*) FROM services s WHERE s.execution_id = e.id)) AS services,
      (SELECT count(*) FROM services s WHERE s.execution_id = e.id AND s.status = 'active') AS active_services
      FROM executions e JOIN users u ON u.id = e.user_id
      WHERE e.id IN (SELECT id FROM executions WHERE ${sql})
      ORDER BY e.time_submit_ms DESC, e.id DESC`,
    args,
  );
  return rows.map(lineOf);
}

/** Number of matching executions in each status. A status without executions is absent. */
export async function countExecutions(
  db: Db,
  filter: ExecutionFilter,
): Promise<ReadonlyMap<ExecutionStatus, number>> {
  const { sql, args } = filterCondition(filter);
  const rows = await db.query(
    `SELECT status, count(*) AS executions FROM executions WHERE ${sql} GROUP BY status`,
    args,
  );
  return new Map(rows.map((row) => [String(row.status) as ExecutionStatus, Number(row.executions)]));
}

const lineOf = (row: Row): ExecutionLine => ({
  id: Number(row.id),
  name: String(row.name),
  userName: String(row.username),
  status: String(row.status) as ExecutionStatus,
  application: String(row.application),
  error: textOrNull(row.error),
  timeSubmitMs: Number(row.time_submit_ms),
  timeStartMs: numberOrNull(row.time_start_ms),
  timeEndMs: numberOrNull(row.time_end_ms),
  services: Number(row.services),
  activeServices: Number(row.active_services),
});

const textOrNull = (value: Row[string] | undefined) => (typeof value === 'string' ? value : null);
const numberOrNull = (value: Row[string] | undefined) => (typeof value === 'number' ? value : null);
