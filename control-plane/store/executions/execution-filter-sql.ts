/**
 * SQL for the filters of the list of executions. The text consists of constants only; values are arguments.
 */
import { type ExecutionFilter, executionTimes } from '../../core/views/execution-filter.ts';
import type { Statement, Value } from '../db/db.ts';

/** Condition on the table executions: not deleted, and matching the filter. */
export function filterCondition(filter: ExecutionFilter): Statement {
  const terms = termsOf(filter);
  const sql = ['deleted = 0', ...terms.map((term) => term.sql)].join(' AND ');
  const args = terms.flatMap((term) => term.args);
  if (filter.limit === undefined) return { sql, args };
  return {
    // In the order of the indexes, which contain every column of the condition.
    sql: `id IN (SELECT id FROM executions WHERE ${sql} ORDER BY time_submit_ms DESC, id DESC LIMIT ?)`,
    args: [...args, filter.limit],
  };
}

function termsOf(filter: ExecutionFilter): Statement[] {
  const { status, name, nameContains, owner, olderThan, earlierThanMs = {}, laterThanMs = {} } = filter;
  const terms: Statement[] = [];
  const add = (sql: string, ...args: (Value | undefined)[]) => {
    const given = args.filter((arg) => arg !== undefined);
    if (given.length > 0) terms.push({ sql, args: given });
  };
  add('status = ?', status);
  add('name = ?', name);
  add('instr(lower(name), lower(?)) > 0', nameContains);
  if (owner && 'id' in owner) add('user_id = ?', owner.id);
  else add('user_id = (SELECT id FROM users WHERE username = ?)', owner?.username);
  for (const time of executionTimes) {
    add(`time_${time}_ms < ?`, earlierThanMs[time]);
    add(`time_${time}_ms > ?`, laterThanMs[time]);
  }
  add('(time_submit_ms, id) < (?, ?)', olderThan?.timeSubmitMs, olderThan?.id);
  return terms;
}
