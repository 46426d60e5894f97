/** Rows that link users to who they are at a provider (ACC-16): issuer and subject, and nothing else. */
import type { Identity } from '../../core/accounts/sign-on.ts';
import type { Db, Statement } from '../db/db.ts';
import { ACCOUNT, accountOf, type StoredAccount } from './users.ts';

/** The user of an identity, disabled or not. */
export async function findAccountByIdentity(
  db: Db,
  { issuer, subject }: Identity,
): Promise<StoredAccount | undefined> {
  const [row] = await db.query(
    `SELECT ${ACCOUNT} FROM sign_ons o JOIN users u ON u.id = o.user_id JOIN roles r ON r.id = u.role_id
      WHERE o.issuer = ? AND o.subject = ? AND u.deleted = 0 LIMIT 1`,
    [issuer, subject],
  );
  return row && accountOf(row);
}

/** Frees an identity whose user was deleted, for a new user. */
export const freeIdentity = ({ issuer, subject }: Identity): Statement => ({
  sql: `DELETE FROM sign_ons WHERE issuer = ? AND subject = ?
    AND user_id IN (SELECT id FROM users WHERE deleted = 1)`,
  args: [issuer, subject],
});

/** Runs after the insertion of the user, and does nothing without it. */
export const insertIdentity = (username: string, { issuer, subject }: Identity): Statement => ({
  sql: `INSERT INTO sign_ons (user_id, issuer, subject) SELECT id, ?, ? FROM users
    WHERE username = ? AND changes() > 0`,
  args: [issuer, subject, username],
});

/** Runs right after the change of the user, and changes nothing if that did not. */
export const replaceIdentity = (userId: number, { issuer, subject }: Identity): Statement => ({
  sql: `INSERT INTO sign_ons (user_id, issuer, subject) SELECT ?, ?, ? WHERE changes() > 0
    ON CONFLICT (user_id) DO UPDATE SET issuer = excluded.issuer, subject = excluded.subject, tokens_until_ms = 0`,
  args: [userId, issuer, subject],
});

/** Runs after the change of the user, and does nothing without it. Tokens end with the identity. */
export const removeIdentity = (userId: number): Statement[] => [
  { sql: 'DELETE FROM sign_ons WHERE user_id = ? AND changes() > 0', args: [userId] },
  { sql: 'DELETE FROM personal_tokens WHERE user_id = ? AND changes() > 0', args: [userId] },
];

export async function findIdentity(db: Db, userId: number): Promise<Identity | undefined> {
  const [row] = await db.query('SELECT issuer, subject FROM sign_ons WHERE user_id = ? LIMIT 1', [userId]);
  return row && { issuer: String(row.issuer), subject: String(row.subject) };
}

/**
 * Marks a sign-on as being completed until `expiresMs`. A second time for the same state is a constraint
 * error.
 */
export const spendSignOn = (stateHash: string, expiresMs: number, nowMs: number): Statement[] => [
  { sql: 'DELETE FROM used_sign_ons WHERE expires_ms <= ?', args: [nowMs] },
  { sql: 'INSERT INTO used_sign_ons (state_hash, expires_ms) VALUES (?, ?)', args: [stateHash, expiresMs] },
];

/** Forgets that mark, of a sign-on that has failed. */
export const releaseSignOn = (stateHash: string): Statement => ({
  sql: 'DELETE FROM used_sign_ons WHERE state_hash = ?',
  args: [stateHash],
});

/** Until when the user's personal access tokens work without another sign-on. */
export const noteSignOn = (userId: number, tokensUntilMs: number): Statement => ({
  sql: 'UPDATE sign_ons SET tokens_until_ms = ? WHERE user_id = ?',
  args: [tokensUntilMs, userId],
});
