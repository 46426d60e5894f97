/** Owns the rows of users as administrators and users themselves read and change them. Deleted users are not there. */
import { ADMIN_ROLE, INTERNAL_SOURCE, type User } from '../../core/accounts/account.ts';
import type { StoredNewUser, StoredUserChanges, UserFilter } from '../../core/accounts/account-input.ts';
import type { Db, Row, Statement } from '../db/db.ts';
import { allRows, given } from './account-writes.ts';

/** A user who is an administrator and can log in. `table` is a name of ours. */
const isAdministrator = (table: string) => `(${table}.deleted = 0 AND ${table}.enabled = 1
  AND ${table}.auth_source = '${INTERNAL_SOURCE}' AND ${table}.password_hash IS NOT NULL
  AND ${table}.role_id = (SELECT id FROM roles WHERE name = '${ADMIN_ROLE}'))`;

/** Whether the cluster has an administrator without the user of the row. */
const IS_SPARE = `(NOT ${isAdministrator('users')}
  OR EXISTS (SELECT 1 FROM users other WHERE other.id <> users.id AND ${isAdministrator('other')}))`;

export async function findUser(db: Db, id: number): Promise<User | undefined> {
  const [row] = await db.query('SELECT * FROM users WHERE id = ? AND deleted = 0 LIMIT 1', [id]);
  return row && userOf(row);
}

export async function listUsers(db: Db, filter: UserFilter): Promise<User[]> {
  const rows = await allRows(
    db,
    `SELECT * FROM users WHERE id > ? AND deleted = 0 AND username = COALESCE(?, username)
      AND email = COALESCE(?, email) AND role_id = COALESCE(?, role_id) AND quota_id = COALESCE(?, quota_id)
      AND auth_source = COALESCE(?, auth_source) AND priority = COALESCE(?, priority)
      AND enabled = COALESCE(?, enabled) ORDER BY id LIMIT ?`,
    [
      given(filter.username),
      given(filter.email),
      given(filter.roleId),
      given(filter.quotaId),
      given(filter.authSource),
      given(filter.priority),
      given(filter.enabled),
    ],
  );
  return rows.map(userOf);
}

/** Every row, also of those who are deleted but not gone: they are disabled. */
export async function loadUsers(db: Db): Promise<User[]> {
  return (await allRows(db, 'SELECT * FROM users WHERE id > ? ORDER BY id LIMIT ?', [])).map(userOf);
}

export const insertUser = (user: StoredNewUser): Statement => ({
  sql: `INSERT INTO users (username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled, password_hash)
    VALUES (?, ?, ?, ?, ?, COALESCE(?, (SELECT max(1000, max(fs_uid) + 1) FROM users)), ?, ?, ?)`,
  args: [
    user.username,
    user.email,
    user.roleId,
    user.quotaId,
    user.authSource,
    given(user.fsUid),
    user.priority,
    given(user.enabled),
    given(user.passwordHash),
  ],
});

/** Changes what is given; refused where the user is not there, or is the last administrator and would no longer be one. */
export function updateUser(id: number, changes: StoredUserChanges): Statement {
  const { username, email, roleId, quotaId, authSource, fsUid, priority, enabled, passwordHash } = changes;
  // A change of what lets the user in, or of what it is let do, ends sessions and remembered credentials.
  const access = [given(roleId), given(enabled), given(authSource)];
  return {
    sql: `UPDATE users SET username = COALESCE(?, username), email = COALESCE(?, email),
      role_id = COALESCE(?, role_id), quota_id = COALESCE(?, quota_id), auth_source = COALESCE(?, auth_source),
      fs_uid = COALESCE(?, fs_uid), priority = COALESCE(?, priority), enabled = COALESCE(?, enabled),
      password_hash = COALESCE(?, password_hash),
      credential_version = credential_version + (? IS NOT NULL OR role_id <> COALESCE(?, role_id)
        OR enabled <> COALESCE(?, enabled) OR auth_source <> COALESCE(?, auth_source))
      WHERE id = ? AND deleted = 0 AND (${IS_SPARE}
        OR (COALESCE(?, role_id) = role_id AND COALESCE(?, enabled) = 1 AND COALESCE(?, auth_source) = auth_source))`,
    args: [
      ...[given(username), given(email), given(roleId), given(quotaId), given(authSource)],
      ...[given(fsUid), given(priority), given(enabled), given(passwordHash)],
      ...[given(passwordHash), ...access],
      ...[id, ...access],
    ],
  };
}

/**
 * Makes the user unusable at once and frees its name; no user name has a colon. Refused where it is not there, or is the
 * last administrator. Its row goes by `purgeUsers`.
 */
export const hideUser = (id: number): Statement => ({
  sql: `UPDATE users SET deleted = 1, enabled = 0, username = 'deleted:' || id, email = '', password_hash = NULL,
    credential_version = credential_version + 1 WHERE id = ? AND deleted = 0 AND ${IS_SPARE}`,
  args: [id],
});

/** Ids of the executions of a user that can be seen, whether or not the user is deleted. */
export async function listExecutionIds(db: Db, userId: number): Promise<number[]> {
  const rows = await db.query('SELECT id FROM executions WHERE user_id = ? AND deleted = 0 ORDER BY id', [
    userId,
  ]);
  return rows.map(({ id }) => Number(id));
}

/** Executions of a user that can be seen, and how many of them have not ended. */
export async function countExecutions(
  db: Db,
  userId: number,
): Promise<{ executions: number; unended: number }> {
  const [row] = await db.query(
    `SELECT count(*) AS executions, count(*) FILTER (WHERE status NOT IN ('terminated', 'error')) AS unended
      FROM executions WHERE user_id = ? AND deleted = 0`,
    [userId],
  );
  return { executions: Number(row?.executions), unended: Number(row?.unended) };
}

/** Removes the rows of deleted users that no execution refers to any more; their sessions go with them. */
export const purgeUsers: Statement = {
  sql: 'DELETE FROM users WHERE deleted = 1 AND NOT EXISTS (SELECT 1 FROM executions WHERE user_id = users.id)',
  args: [],
};

export const userOf = (row: Row): User => ({
  id: Number(row.id),
  username: String(row.username),
  email: String(row.email),
  roleId: Number(row.role_id),
  quotaId: Number(row.quota_id),
  authSource: String(row.auth_source),
  fsUid: Number(row.fs_uid),
  priority: Number(row.priority),
  enabled: row.enabled === 1,
  credentialVersion: Number(row.credential_version),
});
