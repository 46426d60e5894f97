/** Rows of tokens. A token is valid while its row exists; only hashes of ids are stored. */
import type { TokenKind } from '../../core/accounts/account.ts';
import type { Db, Statement } from '../db/db.ts';

export interface NewToken {
  idHash: string;
  expiresMs: number;
}

/**
 * Inserts a pair of tokens, unless the user was removed. Deletes all but the user's newest `maxPerKind` of
 * each kind. Resolves to whether such an older token has ended. `audit` runs right after the
 * insertion, here and below.
 */
export async function insertPair(
  db: Db,
  owner: { userId: number; credentialVersion: number },
  { refresh, access }: { refresh: NewToken; access: NewToken },
  limits: { maxPerKind: number; nowMs: number },
  audit: Statement,
): Promise<boolean> {
  const { userId, credentialVersion } = owner;
  const [, , , , refreshBeyond = 0, accessBeyond = 0] = await db.batch([
    purge(limits.nowMs),
    {
      sql: `INSERT INTO tokens (id_hash, kind, grant_hash, user_id, credential_version, expires_ms)
        SELECT ?, 'refresh', ?, id, ?, ? FROM users WHERE id = ?`,
      args: [refresh.idHash, refresh.idHash, credentialVersion, refresh.expiresMs, userId],
    },
    accessFrom(refresh.idHash, access),
    audit,
    trim('refresh', userId, limits.maxPerKind),
    trim('access', userId, limits.maxPerKind),
  ]);
  return refreshBeyond + accessBeyond > 0;
}

/** Inserts an access token for a refresh token, unless that was revoked meanwhile. */
export async function insertAccess(
  db: Db,
  userId: number,
  refreshHash: string,
  access: NewToken,
  limits: { maxPerKind: number; nowMs: number },
  audit: Statement,
): Promise<{ isInserted: boolean; hasEndedOther: boolean }> {
  const [, inserted, , beyond = 0] = await db.batch([
    purge(limits.nowMs),
    accessFrom(refreshHash, access),
    audit,
    trim('access', userId, limits.maxPerKind),
  ]);
  return { isInserted: inserted === 1, hasEndedOther: beyond > 0 };
}

/**
 * Deletes a token of the user; a refresh token with all its access tokens. Resolves to false if the user has
 * no such token.
 */
export async function deleteToken(
  db: Db,
  userId: number,
  idHash: string,
  audit: Statement,
): Promise<boolean> {
  const [deleted = 0] = await db.batch([
    { sql: 'DELETE FROM tokens WHERE user_id = ? AND ? IN (id_hash, grant_hash)', args: [userId, idHash] },
    audit,
  ]);
  return deleted > 0;
}

const purge = (nowMs: number): Statement => ({
  sql: 'DELETE FROM tokens WHERE expires_ms <= ?',
  args: [nowMs],
});

/** Takes user and version from the refresh token's row. Inserts nothing if that is gone. */
const accessFrom = (refreshHash: string, { idHash, expiresMs }: NewToken): Statement => ({
  sql: `INSERT INTO tokens (id_hash, kind, grant_hash, user_id, credential_version, expires_ms)
    SELECT ?, 'access', id_hash, user_id, credential_version, ? FROM tokens WHERE id_hash = ? AND kind = 'refresh'`,
  args: [idHash, expiresMs, refreshHash],
});

const trim = (kind: TokenKind, userId: number, maxPerKind: number): Statement => ({
  sql: `DELETE FROM tokens WHERE user_id = ? AND kind = ? AND id_hash NOT IN (
    SELECT id_hash FROM tokens WHERE user_id = ? AND kind = ? ORDER BY expires_ms DESC LIMIT ?)`,
  args: [userId, kind, userId, kind, maxPerKind],
});
