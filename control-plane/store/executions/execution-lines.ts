/** Queries for the web page of executions: one page of lines, and the number of executions in each state. */
import { type ExecutionStatus, executionStatuses } from '../../core/model/execution.ts';
import {
  type ExecutionFilter,
  MAX_COUNT,
  type Position,
  SEARCHED_NAMES,
} from '../../core/views/execution-filter.ts';
import type { ExecutionLine } from '../../core/views/execution-views.ts';
import { numberOrNull, textOrNull } from '../db/columns.ts';
import type { Db, Row, Statement } from '../db/db.ts';
import {
  conditionOf,
  filterCondition,
  lastSearchedBy,
  likePattern,
  NAME_CONTAINS,
  searchedBy,
} from './execution-filter-sql.ts';

/** Length of an error in the list; the page of the execution shows all of it. */
const MAX_ERROR_LENGTH = 200;

/** Matching executions, newest first. Parses only the descriptions of these. */
export async function listExecutionLines(db: Db, filter: ExecutionFilter): Promise<ExecutionLine[]> {
  const { sql, args } = filterCondition(filter);
  const rows = await db.query(
    `SELECT e.id, e.name, u.username, e.status, json_extract(e.description, '$.name') AS application,
      CASE e.status WHEN 'error' THEN substr(e.error_message, 1, ${MAX_ERROR_LENGTH + 1}) END AS error,
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

/** Executions in each status, up to MAX_COUNT + 1. A status without executions is absent. */
export type Counts = ReadonlyMap<ExecutionStatus, number>;

/** Counts the matching executions. A part of a name is searched as in `filterCondition`. */
export async function countExecutions(db: Db, filter: ExecutionFilter): Promise<Counts> {
  const { sql, args } = filter.nameContains === undefined ? countsOf(filter) : countsOfNames(filter);
  return countsIn(await db.query(sql, args));
}

/**
 * Counts all matching executions. Undefined if the search for a part of a name does not read all executions
 * that pass the other filters.
 */
export async function countAll(db: Db, filter: ExecutionFilter): Promise<Counts | undefined> {
  if (filter.nameContains === undefined) return countExecutions(db, filter);
  const end = lastSearchedBy(filter);
  const counts = countsOfNames(filter, `iif(EXISTS (SELECT 1 FROM search_end), 0, ${SEARCHED_NAMES})`);
  const rows = await db.query(
    `WITH search_end AS MATERIALIZED (${end.sql})
      ${counts.sql} UNION ALL SELECT NULL, count(*) FROM search_end`,
    [...end.args, ...counts.args],
  );
  const isAll = rows.some(({ status, executions }) => status === null && executions === 0);
  return isAll ? countsIn(rows) : undefined;
}

const countsIn = (rows: readonly Row[]): Counts =>
  new Map(
    rows
      .map(({ status, executions }) => [status as ExecutionStatus, Number(executions)] as const)
      .filter(([, executions]) => executions > 0),
  );

function countsOf(filter: ExecutionFilter): Statement {
  const counts = executionStatuses.map((status) => {
    const { sql, args } = conditionOf({ ...filter, status });
    const matches = `SELECT 1 FROM executions WHERE ${sql} LIMIT ${MAX_COUNT + 1}`;
    return { sql: `SELECT '${status}' AS status, count(*) AS executions FROM (${matches})`, args };
  });
  return { sql: counts.map(({ sql }) => sql).join(' UNION ALL '), args: counts.flatMap(({ args }) => args) };
}

function countsOfNames({ nameContains = '', ...filter }: ExecutionFilter, limit?: string): Statement {
  const { sql, args } = searchedBy(filter, 'name, status', limit);
  return {
    sql: `SELECT status, min(count(*), ${MAX_COUNT + 1}) AS executions FROM (${sql}) WHERE ${NAME_CONTAINS}
      GROUP BY status`,
    args: [...args, likePattern(nameContains)],
  };
}

/** The last execution whose name the search reads; undefined if it reads all that pass the other filters. */
export async function findSearchEnd(db: Db, filter: ExecutionFilter): Promise<Position | undefined> {
  const { sql, args } = lastSearchedBy(filter);
  const [row] = await db.query(sql, args);
  return row && { timeSubmitMs: Number(row.time_submit_ms), id: Number(row.id) };
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
