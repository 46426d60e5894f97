/** Rows of personal access tokens, with digests only. A token is valid while its row exists (ACC-15). */
import type { PersonalToken, StoredPersonalToken } from '../../core/accounts/personal-token.ts';
import { Columns, json, number, numberOrNull, orNull, text } from '../db/columns.ts';
import type { Db, Row, Statement } from '../db/db.ts';

const columns = new Columns({
  name: text,
  scopes: json<PersonalToken['scopes']>(),
  madeMs: number,
  expiresMs: orNull(number),
});

export const expirePersonalTokens = (userId: number, nowMs: number): Statement => ({
  sql: 'DELETE FROM personal_tokens WHERE user_id = ? AND expires_ms <= ?',
  args: [userId, nowMs],
});

/** Inserts nothing beyond the limit, if the name is taken, or if the user has changed. */
export const insertPersonalToken = (token: StoredPersonalToken, maxPerUser: number): Statement => ({
  sql: `INSERT INTO personal_tokens (user_id, hash, ${columns.names})
    SELECT id, ?, ${columns.marks} FROM users WHERE id = ? AND credential_version = ? AND enabled = 1 AND deleted = 0
      AND (SELECT count(*) FROM personal_tokens WHERE user_id = users.id) < ? ON CONFLICT DO NOTHING`,
  args: [token.hash, ...columns.values(token), token.userId, token.credentialVersion, maxPerUser],
});

/** In the order of their creation. BERTH_LIMITS.personalTokensPerUser bounds them. */
export async function listPersonalTokens(db: Db, userId: number): Promise<PersonalToken[]> {
  const sql = 'SELECT * FROM personal_tokens WHERE user_id = ? ORDER BY id';
  return (await db.query(sql, [userId])).map(tokenOf);
}

export async function findPersonalToken(db: Db, id: number): Promise<PersonalToken | undefined> {
  const [row] = await db.query('SELECT * FROM personal_tokens WHERE id = ? LIMIT 1', [id]);
  return row && tokenOf(row);
}

/** Runs `audit` in the same transaction. Resolves to false if there is no such token. */
export async function deletePersonalToken(db: Db, id: number, audit: Statement): Promise<boolean> {
  const sql = 'DELETE FROM personal_tokens WHERE id = ?';
  const [deleted] = await db.batch([{ sql, args: [id] }, audit]);
  return deleted === 1;
}

export const deletePersonalTokensOf = (userId: number): Statement => ({
  sql: 'DELETE FROM personal_tokens WHERE user_id = ?',
  args: [userId],
});

/** Records a use, unless a later one is recorded already. */
export async function writePersonalTokenUse(db: Db, hash: string, usedMs: number): Promise<void> {
  const sql = `UPDATE personal_tokens SET used_ms = ? WHERE hash = ? AND (used_ms IS NULL OR used_ms < ?)
    AND (expires_ms IS NULL OR expires_ms > ?)`;
  await db.batch([{ sql, args: [usedMs, hash, usedMs, usedMs] }]);
}

const tokenOf = (row: Row): PersonalToken => ({
  id: Number(row.id),
  userId: Number(row.user_id),
  ...columns.read(row),
  usedMs: numberOrNull(row.used_ms),
});
