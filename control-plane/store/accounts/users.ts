/**
 * Rows behind authentication: accounts by name, session, token or credential, and the sessions. user-rows.ts
 * changes users.
 */
import {
  type Account,
  type Credential,
  PASSWORD_SOURCES,
  type Scope,
  type TokenKind,
} from '../../core/accounts/account.ts';
import { isAlike, OIDC_SOURCE } from '../../core/accounts/sign-on.ts';
import { numberOrNull, textOrNull } from '../db/columns.ts';
import type { Db, Row, Statement } from '../db/db.ts';
import { outdateCoordinator } from '../db/epoch.ts';
import { deletePersonalTokensOf } from './personal-tokens.ts';
import { ROLE_FLAGS, roleOf } from './roles.ts';
import { userOf } from './user-rows.ts';

/** The columns of an account, of the tables `u` and `r`. */
export const ACCOUNT = `u.id, u.username, u.email, u.role_id, u.quota_id, u.auth_source, u.fs_uid, u.priority, u.enabled,
  u.password_hash, u.credential_version, r.name AS role_name, ${ROLE_FLAGS.map((flag) => `r.${flag}`).join(', ')}`;

const BY_NAME = `SELECT ${ACCOUNT} FROM users u JOIN roles r ON r.id = u.role_id
  WHERE u.username = ? AND u.deleted = 0 LIMIT 1`;

const ALIKE = `SELECT ${ACCOUNT} FROM users u JOIN roles r ON r.id = u.role_id
  WHERE u.username LIKE ? ESCAPE '\\' AND u.deleted = 0 ORDER BY u.id`;

const BY_ID = `SELECT ${ACCOUNT} FROM users u JOIN roles r ON r.id = u.role_id
  WHERE u.id = ? AND u.enabled = 1 AND u.deleted = 0 LIMIT 1`;

const BY_SESSION = `SELECT ${ACCOUNT}, s.expires_ms, s.full_until_ms FROM sessions s JOIN users u ON u.id = s.user_id
  JOIN roles r ON r.id = u.role_id
  WHERE s.token_hash = ? AND s.credential_version = u.credential_version AND u.enabled = 1 AND u.deleted = 0 LIMIT 1`;

/** The time is not compared in SQL, so that simultaneous requests share one read. */
const BY_PERSONAL_TOKEN = `SELECT ${ACCOUNT}, t.id AS token_id, t.scopes, t.expires_ms,
    iif(u.auth_source = '${OIDC_SOURCE}', COALESCE(o.tokens_until_ms, 0), NULL) AS until_ms
  FROM personal_tokens t JOIN users u ON u.id = t.user_id JOIN roles r ON r.id = u.role_id
  LEFT JOIN sign_ons o ON o.user_id = u.id
  WHERE t.hash = ? AND u.enabled = 1 AND u.deleted = 0
    AND u.auth_source IN (${[...PASSWORD_SOURCES, OIDC_SOURCE].map((one) => `'${one}'`)}) LIMIT 1`;

/** An account with the hash of its password; null if no password is set. */
export interface StoredAccount extends Account {
  passwordHash: string | null;
  /** When the session or token that was looked up expires. */
  expiresMs?: number;
}

export async function findAccountByName(db: Db, username: string): Promise<StoredAccount | undefined> {
  const [row] = await db.query(BY_NAME, [username]);
  return row && accountOf(row);
}

/** All accounts whose names a directory takes for this one, the oldest first. */
export async function findAccountsAlike(db: Db, username: string): Promise<StoredAccount[]> {
  // LIKE ignores capitals of ASCII only; for anything else it lets all through.
  const pattern = username
    .normalize('NFKC')
    .replace(/[\\%_]/g, '\\$&')
    .replace(/[^!-~]+/g, '%');
  const accounts = (await db.query(ALIKE, [pattern])).map(accountOf);
  return accounts.filter(({ user }) => isAlike(user.username, username));
}

/**
 * The account of a session that is neither expired nor ended by a change of the user. `workOnly`: the session
 * may have outlasted its password (H169).
 */
export async function findAccountBySession(
  db: Db,
  tokenHash: string,
  nowMs: number,
  workOnly = false,
): Promise<StoredAccount | undefined> {
  const [row] = await db.query(BY_SESSION, [tokenHash]);
  if (!row) return undefined;
  const untilMs = Number((workOnly ? null : row.full_until_ms) ?? row.expires_ms);
  // Not compared in SQL: the query then has no time in it, so simultaneous requests share one read.
  return untilMs > nowMs ? accountOf({ ...row, expires_ms: untilMs }) : undefined;
}

/** The account of a token that is not revoked, expired or ended by a change of the user. */
export async function findAccountByToken(
  db: Db,
  idHash: string,
  kind: TokenKind,
  nowMs: number,
): Promise<StoredAccount | undefined> {
  const [row] = await db.query(
    `SELECT ${ACCOUNT}, t.expires_ms FROM tokens t JOIN users u ON u.id = t.user_id JOIN roles r ON r.id = u.role_id
      WHERE t.id_hash = ? AND t.kind = ? AND t.credential_version = u.credential_version AND u.enabled = 1
        AND u.deleted = 0 LIMIT 1`,
    [idHash, kind],
  );
  return row && Number(row.expires_ms) > nowMs ? accountOf(row) : undefined;
}

/**
 * The account of a personal access token that is neither revoked nor expired, and its scopes. It outlives
 * changes of the password, but works only while its user may log in.
 */
export async function findAccountByPersonalToken(
  db: Db,
  hash: string,
  nowMs: number,
): Promise<(StoredAccount & { id: number; scopes: readonly Scope[]; expiresMs: number }) | undefined> {
  const [row] = await db.query(BY_PERSONAL_TOKEN, [hash]);
  if (!row) return undefined;
  const [ownMs, signOnMs] = [numberOrNull(row.expires_ms), numberOrNull(row.until_ms)];
  const expiresMs = Math.min(ownMs ?? Number.POSITIVE_INFINITY, signOnMs ?? Number.POSITIVE_INFINITY);
  if (expiresMs <= nowMs) return undefined;
  return { ...accountOf(row), id: Number(row.token_id), scopes: JSON.parse(String(row.scopes)), expiresMs };
}

/**
 * The account that an earlier valid credential still admits. For a password, the caller must compare the
 * credential version.
 */
export async function findAccountByCredential(
  db: Db,
  userId: number,
  credential: Credential,
  nowMs: number,
): Promise<StoredAccount | undefined> {
  if (credential.by === 'session')
    return findAccountBySession(db, credential.tokenHash, nowMs, credential.workOnly);
  if (credential.by === 'token') return findAccountByToken(db, credential.idHash, 'access', nowMs);
  if (credential.by === 'personal-token') return findAccountByPersonalToken(db, credential.hash, nowMs);
  const [row] = await db.query(BY_ID, [userId]);
  return row && accountOf(row);
}

/** What sessions of the command line have in place of an address. */
export const BY_PROGRAM = 'program';

export interface NewSession {
  tokenHash: string;
  userId: number;
  credentialVersion: number;
  expiresMs: number;
  /** From then on it admits to executions only; null: never. */
  fullUntilMs: number | null;
  /**
   * Digest of the address for a session by Basic credentials; BY_PROGRAM for a login by the command line;
   * null for a login by the form.
   */
  openedFrom: string | null;
  /** When the user signed on for it; undefined for a session by a password or by another session. */
  signedOnMs?: number | undefined;
}

/**
 * Inserts a session in place of earlier ones by Basic credentials from the same address, except for those
 * that were opened or extended within the last `keptMs`. Then deletes all but `maxPerUser` sessions of the
 * user: those by Basic first, then those of programs, of equals the oldest. `audit` runs right after the
 * insertion. Resolves to whether a session of the user has ended.
 */
export async function insertSession(
  db: Db,
  session: NewSession,
  { nowMs, maxPerUser, keptMs }: { nowMs: number; maxPerUser: number; keptMs: number },
  audit: readonly Statement[] = [],
): Promise<boolean> {
  const { tokenHash, userId, credentialVersion, expiresMs, fullUntilMs } = session;
  const { openedFrom, signedOnMs = null } = session;
  const affected = await db.batch([
    { sql: 'DELETE FROM sessions WHERE expires_ms <= ?', args: [nowMs] },
    {
      sql: 'DELETE FROM sessions WHERE user_id = ? AND opened_from = ? AND expires_ms <= ?',
      args: [userId, openedFrom === BY_PROGRAM ? null : openedFrom, expiresMs - keptMs],
    },
    {
      // Inserts nothing if the user was removed meanwhile.
      sql: `INSERT INTO sessions (token_hash, user_id, credential_version, expires_ms, opened_from, signed_on_ms,
        full_until_ms) SELECT ?, id, ?, ?, ?, ?, ? FROM users WHERE id = ?`,
      args: [tokenHash, credentialVersion, expiresMs, openedFrom, signedOnMs, fullUntilMs, userId],
    },
    ...audit,
    {
      sql: `DELETE FROM sessions WHERE user_id = ? AND token_hash NOT IN (SELECT token_hash FROM sessions
        WHERE user_id = ?
        ORDER BY opened_from IS NOT NULL, opened_from <> '${BY_PROGRAM}', expires_ms DESC LIMIT ?)`,
      args: [userId, userId, maxPerUser],
    },
  ]);
  const [replaced = 0, beyond = 0] = [affected[1], affected.at(-1)];
  return replaced + beyond > 0;
}

/** When a session ends to admit everything, and when its user signed on for it; undefined if it has ended. */
export async function findSessionTimes(
  db: Db,
  tokenHash: string,
): Promise<{ expiresMs: number; signedOnMs: number | null } | undefined> {
  const sql = `SELECT COALESCE(full_until_ms, expires_ms) AS expires_ms, signed_on_ms FROM sessions
    WHERE token_hash = ? LIMIT 1`;
  const [row] = await db.query(sql, [tokenHash]);
  return row && { expiresMs: Number(row.expires_ms), signedOnMs: numberOrNull(row.signed_on_ms) };
}

/** Resolves to false if the session has ended. */
export async function extendSession(
  db: Db,
  { tokenHash, expiresMs, fullUntilMs }: Pick<NewSession, 'tokenHash' | 'expiresMs' | 'fullUntilMs'>,
): Promise<boolean> {
  const [extended] = await db.batch([
    {
      sql: 'UPDATE sessions SET expires_ms = ?, full_until_ms = ? WHERE token_hash = ?',
      args: [expiresMs, fullUntilMs, tokenHash],
    },
  ]);
  return extended === 1;
}

/** Runs `audit` in the same transaction. */
export async function deleteSession(
  db: Db,
  tokenHash: string,
  audit: readonly Statement[] = [],
): Promise<void> {
  await db.batch([{ sql: 'DELETE FROM sessions WHERE token_hash = ?', args: [tokenHash] }, ...audit]);
}

/**
 * Sets the password of a user and ends all sessions, tokens and remembered credentials. Written beside a
 * coordinator, which forgets what it knew of them (ACC-6, ACC-10).
 */
export async function replacePassword(
  db: Db,
  userId: number,
  passwordHash: string,
  audit: Statement,
): Promise<void> {
  await db.batch([
    {
      sql: 'UPDATE users SET password_hash = ?, credential_version = credential_version + 1 WHERE id = ?',
      args: [passwordHash, userId],
    },
    audit,
    { sql: 'DELETE FROM sessions WHERE user_id = ?', args: [userId] },
    { sql: 'DELETE FROM tokens WHERE user_id = ?', args: [userId] },
    deletePersonalTokensOf(userId),
    outdateCoordinator,
  ]);
}

export async function countUsers(db: Db): Promise<number> {
  const [row] = await db.query('SELECT count(*) AS users FROM users WHERE deleted = 0');
  return Number(row?.users);
}

/**
 * Creates the first administrator unless there are users, then runs `next`. Resolves to true if it was
 * created.
 */
export async function insertFirstAdministrator(
  db: Db,
  username: string,
  passwordHash: string,
  next: readonly Statement[],
): Promise<boolean> {
  const [inserted] = await db.batch([
    {
      sql: `INSERT INTO users (username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled, password_hash)
        SELECT ?, '', (SELECT id FROM roles WHERE name = 'admin'), (SELECT id FROM quotas WHERE name = 'default'),
          'internal', 1000, 0, 1, ? WHERE NOT EXISTS (SELECT 1 FROM users WHERE deleted = 0)`,
      args: [username, passwordHash],
    },
    ...next,
  ]);
  return inserted === 1;
}

export const accountOf = (row: Row): StoredAccount => ({
  user: userOf(row),
  role: roleOf({ ...row, id: row.role_id ?? null, name: row.role_name ?? null }),
  passwordHash: textOrNull(row.password_hash),
  ...(row.expires_ms !== undefined && { expiresMs: Number(row.expires_ms) }),
});
