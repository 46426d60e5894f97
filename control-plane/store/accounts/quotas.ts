/** Rows of quotas. */
import { DEFAULT_QUOTA, type Quota } from '../../core/accounts/account.ts';
import type { NameFilter, NewQuota, QuotaChanges } from '../../core/accounts/account-input.ts';
import { Columns, number, text } from '../db/columns.ts';
import type { Db, Row, Statement } from '../db/db.ts';
import { allRows, given } from './account-writes.ts';

const columns = new Columns(
  {
    name: text,
    concurrentExecutions: number,
    memoryBytes: number,
    cores: number,
    timeLimitS: number,
    maxTimeLimitS: number,
  },
  { memoryBytes: 'memory' },
);

export async function findQuota(db: Db, id: number): Promise<Quota | undefined> {
  const [row] = await db.query('SELECT * FROM quotas WHERE id = ? LIMIT 1', [id]);
  return row && quotaOf(row);
}

export async function listQuotas(db: Db, { name }: NameFilter): Promise<Quota[]> {
  const sql = 'SELECT * FROM quotas WHERE id > ? AND name = COALESCE(?, name) ORDER BY id LIMIT ?';
  return (await allRows(db, sql, [given(name)])).map(quotaOf);
}

/** Inserts nothing if the name is taken. */
export const insertQuota = (quota: NewQuota): Statement => ({
  sql: `INSERT INTO quotas (${columns.names}) VALUES (${columns.marks}) ON CONFLICT DO NOTHING`,
  args: columns.values({
    ...quota,
    timeLimitS: quota.timeLimitS ?? 0,
    maxTimeLimitS: quota.maxTimeLimitS ?? 0,
  }),
});

/** Changes the given fields. Affects no row if there is no such quota, or if another one has the name. */
export const updateQuota = (id: number, changes: QuotaChanges): Statement => ({
  sql: `UPDATE quotas SET ${columns.changed} WHERE id = ?
      AND NOT EXISTS (SELECT 1 FROM quotas other WHERE other.name = ? AND other.id <> quotas.id)`,
  args: [...columns.given(changes), id, given(changes.name)],
});

/** A cap of 0 is none. */
const isNoHigher = (cap: string) => `(old.${cap} = 0 OR fallback.${cap} BETWEEN 1 AND old.${cap})`;
const CAPS = ['concurrent_executions', 'memory', 'cores', 'max_time_limit_s'];

/** Gives the users of a quota, also deleted ones, the default quota, if that allows them nothing more. */
export const moveUsersOfQuota = (id: number): Statement => ({
  sql: `UPDATE users SET quota_id = (SELECT id FROM quotas WHERE name = '${DEFAULT_QUOTA}')
    WHERE quota_id = ? AND EXISTS (SELECT 1 FROM quotas old JOIN quotas fallback ON fallback.name = '${DEFAULT_QUOTA}'
      WHERE old.id = users.quota_id AND old.id <> fallback.id AND ${CAPS.map(isNoHigher).join(' AND ')})`,
  args: [id],
});

/** Affects no row if there is no such quota, or if it is in use. */
export const deleteQuota = (id: number): Statement => ({
  sql: 'DELETE FROM quotas WHERE id = ? AND NOT EXISTS (SELECT 1 FROM users WHERE quota_id = quotas.id)',
  args: [id],
});

export const quotaOf = (row: Row): Quota => ({ id: Number(row.id), ...columns.read(row) });
