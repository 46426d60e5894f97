/**
 * SQL for the filters of the list of executions. The text consists of constants only; values are arguments.
 */
import { type ExecutionFilter, executionTimes, SEARCHED_NAMES } from '../../core/views/execution-filter.ts';
import type { Statement, Value } from '../db/db.ts';

/** If so few executions ended in a span, they are sorted (STORE-25). */
const FEW = 5_000;

/** Condition on the table executions: not deleted, and matching the filter. */
export function filterCondition(filter: ExecutionFilter): Statement {
  const { nameContains, limit, ...rest } = filter;
  if (nameContains !== undefined) return namesSearched(nameContains, rest, limit);
  const all = conditionOf(filter);
  if (limit === undefined) return all;
  const newest = newestOf(all, { sql: '?', args: [limit] });
  const source = filter.laterThanMs?.end ?? filter.laterThanMs?.start;
  if (source === undefined) return { sql: `id IN (SELECT id FROM (${newest.sql}))`, args: newest.args };
  return endedLater(filter, all, limit);
}

/** In the order of the indexes, which contain every column of the condition. */
const newestOf = ({ sql, args }: Statement, limit: Statement, columns = 'id, time_submit_ms'): Statement => ({
  sql: `SELECT ${columns} FROM executions WHERE ${sql} ORDER BY time_submit_ms DESC, id DESC LIMIT ${limit.sql}`,
  args: [...args, ...limit.args],
});

/** These columns of the executions whose names a search reads. */
export const searchedBy = (
  filter: ExecutionFilter,
  columns: string,
  limit = String(SEARCHED_NAMES),
): Statement => newestOf(conditionOf(filter), { sql: limit, args: [] }, columns);

/** The last of them, without reading any column of the others. */
export const lastSearchedBy = (filter: ExecutionFilter): Statement =>
  newestOf(conditionOf(filter), { sql: `1 OFFSET ${SEARCHED_NAMES - 1}`, args: [] });

function namesSearched(part: string, filter: ExecutionFilter, limit: number | undefined): Statement {
  const searched = searchedBy(filter, 'id, name');
  const atMost = limit === undefined ? '' : ' LIMIT ?';
  return {
    sql: `id IN (SELECT id FROM (${searched.sql}) WHERE ${NAME_CONTAINS}${atMost})`,
    args: [...searched.args, likePattern(part), ...(limit === undefined ? [] : [limit])],
  };
}

/** LIKE ignores the case of the letters a to z. */
export const NAME_CONTAINS = `name LIKE ? ESCAPE '\\'`;
export const likePattern = (part: string): string => `%${part.replace(/[\\%_]/g, '\\$&')}%`;

/**
 * Executions that started or ended later than some time, which the order of submission does not show. Those
 * that ended in the span are read first. If these are few, they and what is live have all matches. Otherwise
 * most executions submitted since match, so that reading from the newest on finds enough.
 */
function endedLater(filter: ExecutionFilter, all: Statement, limit: number): Statement {
  const { laterThanMs = {}, earlierThanMs = {} } = filter;
  const span: Statement[] = [laterThanMs.end, laterThanMs.start]
    .filter((time) => time !== undefined)
    .map((time) => ({ sql: 'time_end_ms > ?', args: [time] }));
  if (earlierThanMs.end !== undefined) span.push({ sql: 'time_end_ms < ?', args: [earlierThanMs.end] });
  const few = `SELECT id, name, user_id, status, 0 AS deleted, time_submit_ms, time_start_ms, time_end_ms
    FROM executions INDEXED BY executions_by_end WHERE deleted = 0 AND time_end_ms IS NOT NULL
    AND ${span.map(({ sql }) => sql).join(' AND ')} LIMIT ${FEW + 1}`;
  const fewArgs = span.flatMap(({ args }) => args);
  const count = '(SELECT count(*) FROM few)';
  const many = newestOf(all, { sql: `iif(${count} > ${FEW}, ?, 0)`, args: [limit] });
  const mayLive = laterThanMs.end === undefined;
  const live = `UNION ALL SELECT id, time_submit_ms FROM executions INDEXED BY executions_by_status
    WHERE status IN ('starting', 'running', 'cleaning up') AND ${count} <= ${FEW} AND ${all.sql}`;
  return {
    sql: `id IN (WITH few AS MATERIALIZED (${few})
      SELECT id FROM (SELECT id, time_submit_ms FROM few executions WHERE ${count} <= ${FEW} AND ${all.sql}
      ${mayLive ? live : ''} UNION ALL SELECT * FROM (${many.sql}))
      ORDER BY time_submit_ms DESC, id DESC LIMIT ?)`,
    args: [...fewArgs, ...all.args, ...(mayLive ? all.args : []), ...many.args, limit],
  };
}

/** No execution ends before it starts, so that those that ended since then are few. */
export const ENDED_SINCE = `SELECT id FROM executions INDEXED BY executions_by_end
  WHERE deleted = 0 AND time_end_ms IS NOT NULL AND time_end_ms > ? AND time_start_ms > ?
  UNION ALL SELECT id FROM executions INDEXED BY executions_by_status
  WHERE deleted = 0 AND status = 'cleaning up' AND time_start_ms > ?`;
const RUNNING_SINCE = `SELECT id FROM executions INDEXED BY executions_by_status
  WHERE deleted = 0 AND status = 'running' UNION ALL ${ENDED_SINCE}`;

/** The filter without its limit, and without a part of a name. */
export function conditionOf(filter: ExecutionFilter): Statement {
  const terms = termsOf(filter);
  const sql = ['deleted = 0', ...terms.map((term) => term.sql)].join(' AND ');
  return { sql, args: terms.flatMap((term) => term.args) };
}

function termsOf(filter: ExecutionFilter): Statement[] {
  const { status, name, owner, olderThan, earlierThanMs = {}, laterThanMs = {} } = filter;
  const terms: Statement[] = [];
  const add = (sql: string, ...args: (Value | undefined)[]) => {
    const given = args.filter((arg) => arg !== undefined);
    if (given.length > 0) terms.push({ sql, args: given });
  };
  const ended = status === 'terminated' || status === 'error';
  const { runningSinceMs: since } = filter;
  // Without the list, SQLite cannot use the index of a user's ended executions.
  if (status === 'running' && since !== undefined) add(`id IN (${RUNNING_SINCE})`, since, since, since);
  else add(ended ? `status = ? AND status IN ('terminated', 'error')` : 'status = ?', status);
  const needsEnd = ended || status === 'cleaning up' || earlierThanMs.end !== undefined;
  if (needsEnd || laterThanMs.end !== undefined) add('COALESCE(time_start_ms, 0) <= ?', since);
  add('name = ?', name);
  // The sign keeps SQLite from following an index: few executions are live, even if a user has many others.
  const user = status === undefined || ended ? 'user_id' : '+user_id';
  if (owner && 'id' in owner) add(`${user} = ?`, owner.id);
  else add(`${user} = (SELECT id FROM users WHERE username = ?)`, owner?.username);
  for (const time of executionTimes) {
    // No index in the order of these times serves a list in the order of submission.
    const column = time === 'submit' ? 'time_submit_ms' : `+time_${time}_ms`;
    add(`${column} < ?`, earlierThanMs[time]);
    add(`${column} > ?`, laterThanMs[time]);
    // No execution starts or ends before it is submitted (C246).
    if (time !== 'submit') add('time_submit_ms < ?', earlierThanMs[time]);
  }
  add('(time_submit_ms, id) < (?, ?)', olderThan?.timeSubmitMs, olderThan?.id);
  return terms;
}
