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

/** Runs right after the insertion of the user. The id of the inserted row stays that of the user. */
export const insertIdentity = ({ issuer, subject }: Identity): Statement => ({
  sql: 'INSERT INTO sign_ons (user_id, issuer, subject) VALUES (last_insert_rowid(), ?, ?)',
  args: [issuer, subject],
});

/** Runs right after the change of the user, and changes nothing if that did not. */
export const replaceIdentity = (userId: number, { issuer, subject }: Identity): Statement => ({
  sql: `INSERT INTO sign_ons (user_id, issuer, subject) SELECT ?, ?, ? WHERE changes() > 0
    ON CONFLICT (user_id) DO UPDATE SET issuer = excluded.issuer, subject = excluded.subject, tokens_until_ms = 0`,
  args: [userId, issuer, subject],
});

/** Until when the user's personal access tokens work without another sign-on. */
export const noteSignOn = (userId: number, tokensUntilMs: number): Statement => ({
  sql: 'UPDATE sign_ons SET tokens_until_ms = ? WHERE user_id = ?',
  args: [tokensUntilMs, userId],
});
