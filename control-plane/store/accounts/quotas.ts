/** Rows of quotas. */
import { DEFAULT_QUOTA, type Quota } from '../../core/accounts/account.ts';
import type { NameFilter, NewQuota, QuotaChanges } from '../../core/accounts/account-input.ts';
import type { Db, Row, Statement } from '../db/db.ts';
import { allRows, given } from './account-writes.ts';

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
  sql: `INSERT INTO quotas (name, concurrent_executions, memory, cores, time_limit_s, max_time_limit_s)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  args: values({ ...quota, timeLimitS: quota.timeLimitS ?? 0, maxTimeLimitS: quota.maxTimeLimitS ?? 0 }),
});

/** Changes the given fields. Affects no row if there is no such quota, or if another one has the name. */
export const updateQuota = (id: number, changes: QuotaChanges): Statement => ({
  sql: `UPDATE quotas SET name = COALESCE(?, name), concurrent_executions = COALESCE(?, concurrent_executions),
    memory = COALESCE(?, memory), cores = COALESCE(?, cores), time_limit_s = COALESCE(?, time_limit_s),
    max_time_limit_s = COALESCE(?, max_time_limit_s) WHERE id = ?
      AND NOT EXISTS (SELECT 1 FROM quotas other WHERE other.name = ? AND other.id <> quotas.id)`,
  args: [...values(changes), id, given(changes.name)],
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

const values = (quota: QuotaChanges) => [
  given(quota.name),
  given(quota.concurrentExecutions),
  given(quota.memoryBytes),
  given(quota.cores),
  given(quota.timeLimitS),
  given(quota.maxTimeLimitS),
];

export const quotaOf = (row: Row): Quota => ({
  id: Number(row.id),
  name: String(row.name),
  concurrentExecutions: Number(row.concurrent_executions),
  memoryBytes: Number(row.memory),
  cores: Number(row.cores),
  timeLimitS: Number(row.time_limit_s),
  maxTimeLimitS: Number(row.max_time_limit_s),
});
