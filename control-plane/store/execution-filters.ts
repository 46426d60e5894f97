/** Owns the SQL behind the filters of the list of executions. The text is made of constants; what was asked for goes into the arguments. */
import { type ExecutionFilter, executionTimes } from '../core/execution-filter.ts';
import type { Statement, Value } from './db.ts';

/** A condition on the table executions, for those not deleted that pass the filter. */
export function filterCondition(filter: ExecutionFilter): Statement {
  const terms = termsOf(filter);
  const sql = ['deleted = 0', ...terms.map((term) => term.sql)].join(' AND ');
  const args = terms.map((term) => term.value);
  if (filter.limit === undefined) return { sql, args };
  return {
    // In the order of the indexes, which hold all columns that are asked for here.
    sql: `id IN (SELECT id FROM executions WHERE ${sql} ORDER BY time_submit_ms DESC, id DESC LIMIT ?)`,
    args: [...args, filter.limit],
  };
}

interface Term {
  sql: string;
  value: Value;
}

function termsOf({ status, name, owner, earlierThanMs = {}, laterThanMs = {} }: ExecutionFilter): Term[] {
  const terms: Term[] = [];
  const add = (sql: string, value: Value | undefined) => {
    if (value !== undefined) terms.push({ sql, value });
  };
  add('status = ?', status);
  add('name = ?', name);
  if (owner && 'id' in owner) add('user_id = ?', owner.id);
  else add('user_id = (SELECT id FROM users WHERE username = ?)', owner?.username);
  for (const time of executionTimes) {
    add(`time_${time}_ms < ?`, earlierThanMs[time]);
    add(`time_${time}_ms > ?`, laterThanMs[time]);
  }
  return terms;
}
