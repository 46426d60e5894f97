/** Rows of idempotency keys: what requests have made under the keys of their clients. */
import { forgottenMs, type KeptKeys, type UsedKey } from '../../core/model/idempotency.ts';
import { Columns, number, numberOrNull, text } from '../db/columns.ts';
import type { Db, Statement } from '../db/db.ts';

const columns = new Columns<UsedKey>({
  userId: number,
  key: text,
  digest: text,
  madeId: number,
  madeMs: number,
});

/** A key with the id of what was made: a value, or a query for it. */
type NewKey = Omit<UsedKey, 'madeId'> & { madeId: number | Statement };

/** The row may be older than keys are kept. */
export async function findKey(db: Db, userId: number, key: string): Promise<UsedKey | undefined> {
  const [row] = await db.query('SELECT * FROM idempotency_keys WHERE user_id = ? AND key = ? LIMIT 1', [
    userId,
    key,
  ]);
  return row && columns.read(row);
}

/** The keys of a user that are kept, in no order: at most `limit`. */
export async function listKeys(db: Db, userId: number, nowMs: number, limit: number): Promise<UsedKey[]> {
  const sql = 'SELECT * FROM idempotency_keys WHERE user_id = ? AND made_ms > ? LIMIT ?';
  return (await db.query(sql, [userId, forgottenMs(nowMs), limit])).map((row) => columns.read(row));
}

export async function countKeys(db: Db, userId: number, nowMs: number): Promise<KeptKeys> {
  const [row] = await db.query(
    `SELECT count(*) AS keys, min(made_ms) AS oldest_ms FROM idempotency_keys
      WHERE user_id = ? AND made_ms > ? LIMIT 1`,
    [userId, forgottenMs(nowMs)],
  );
  return { count: Number(row?.keys), oldestMs: numberOrNull(row?.oldest_ms) };
}

/** Replaces a row that is older than keys are kept, and no other. */
export const insertKey = (key: UsedKey): Statement => insertion(key, 'true');

/** The same, right after the change that has made something; writes nothing if that has changed nothing. */
export const insertKeyOfChange = (key: NewKey): Statement => insertion(key, 'changes() > 0');

function insertion({ userId, key, digest, madeId, madeMs }: NewKey, condition: string): Statement {
  const { sql, args } = typeof madeId === 'number' ? { sql: '?', args: [madeId] } : madeId;
  return {
    sql: `INSERT INTO idempotency_keys (user_id, key, digest, made_id, made_ms)
      SELECT ?, ?, ?, (${sql}), ? WHERE ${condition}
      ON CONFLICT (user_id, key) DO UPDATE SET digest = excluded.digest, made_id = excluded.made_id,
        made_ms = excluded.made_ms WHERE made_ms <= ?`,
    args: [userId, key, digest, ...args, madeMs, forgottenMs(madeMs)],
  };
}
