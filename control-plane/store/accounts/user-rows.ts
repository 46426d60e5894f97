/** Rows of users, for administration and for users themselves. Deleted users are not visible here. */
import { ADMIN_ROLE, INTERNAL_SOURCE, LDAP_SOURCE, type User } from '../../core/accounts/account.ts';
import type { StoredNewUser, StoredUserChanges, UserFilter } from '../../core/accounts/account-input.ts';
import { folded } from '../../core/accounts/sign-on.ts';
import { Columns, flag, number, text } from '../db/columns.ts';
import type { Db, Row, Statement, Value } from '../db/db.ts';
import { allRows, given } from './account-writes.ts';

/** What creations, changes and filters may give. The number of a user is given or the next free one. */
const columns = new Columns({
  username: text,
  email: text,
  roleId: number,
  quotaId: number,
  authSource: text,
  priority: number,
  enabled: flag,
});

/** True for an administrator who can log in. `table` must be a constant. */
const isAdministrator = (table: string) => `(${table}.deleted = 0 AND ${table}.enabled = 1
  AND ${table}.auth_source = '${INTERNAL_SOURCE}' AND ${table}.password_hash IS NOT NULL
  AND ${table}.role_id = (SELECT id FROM roles WHERE name = '${ADMIN_ROLE}'))`;

/** True if there is an administrator besides the user of the row. */
const IS_SPARE = `(NOT ${isAdministrator('users')}
  OR EXISTS (SELECT 1 FROM users other WHERE other.id <> users.id AND ${isAdministrator('other')}))`;

export async function findUser(db: Db, id: number): Promise<User | undefined> {
  const [row] = await db.query('SELECT * FROM users WHERE id = ? AND deleted = 0 LIMIT 1', [id]);
  return row && userOf(row);
}

/** Whether a user has this name, or one that differs in capitals of ASCII only. */
export async function isLikeness(db: Db, username: string): Promise<boolean> {
  const sql = 'SELECT 1 FROM users WHERE username = ? COLLATE NOCASE AND deleted = 0 LIMIT 1';
  return (await db.query(sql, [username])).length > 0;
}

export async function listUsers(db: Db, filter: UserFilter): Promise<User[]> {
  const rows = await allRows(
    db,
    `SELECT * FROM users WHERE id > ? AND deleted = 0 AND ${columns.matched} ORDER BY id LIMIT ?`,
    columns.given(filter),
  );
  return rows.map(userOf);
}

/** All rows, including those of deleted users, which are disabled. */
export async function loadUsers(db: Db): Promise<User[]> {
  return (await allRows(db, 'SELECT * FROM users WHERE id > ? ORDER BY id LIMIT ?', [])).map(userOf);
}

/** True if another user than the first parameter has the name of the second. */
const IS_NAME_TAKEN = 'EXISTS (SELECT 1 FROM users other WHERE other.id IS NOT ? AND other.username = ?)';
/** The same of issuer and subject. */
const IS_IDENTITY_TAKEN =
  'EXISTS (SELECT 1 FROM sign_ons other WHERE other.user_id IS NOT ? AND other.issuer = ? AND other.subject = ?)';
/** True if the number of the first parameter was that of another user, who was deleted. */
const IS_NUMBER_TAKEN = `EXISTS (SELECT 1 FROM fs_uids other WHERE other.fs_uid = ? AND other.user_id IS NOT ?
  AND NOT EXISTS (SELECT 1 FROM users owner WHERE owner.id = other.user_id AND owner.deleted = 0))`;
/**
 * True if the user of the first two parameters, a new source and the id, is one of the directory, and another
 * such user has the third parameter as folded name.
 */
const IS_ALIKE_TAKEN = `(COALESCE(?, (SELECT auth_source FROM users own WHERE own.id = ?)) = '${LDAP_SOURCE}'
  AND EXISTS (SELECT 1 FROM users other WHERE other.folded_name = ? AND other.id IS NOT ? AND other.deleted = 0
    AND other.auth_source = '${LDAP_SOURCE}'))`;
const IS_TAKEN = `(${IS_NAME_TAKEN} OR ${IS_IDENTITY_TAKEN} OR ${IS_NUMBER_TAKEN} OR ${IS_ALIKE_TAKEN})`;
/** True if the role or the quota is given, and does not exist. */
const IS_DANGLING = `((? IS NOT NULL AND NOT EXISTS (SELECT 1 FROM roles WHERE id = ?))
  OR (? IS NOT NULL AND NOT EXISTS (SELECT 1 FROM quotas WHERE id = ?)))`;

const takenArgs = (
  id: number | undefined,
  { username, identity, fsUid, authSource, foldedName }: StoredUserChanges,
): Value[] => [
  given(id),
  given(username),
  given(id),
  given(identity?.issuer),
  given(identity?.subject),
  given(fsUid),
  given(id),
  given(authSource),
  given(id),
  given(id === undefined ? folded(username ?? '') : foldedName),
  given(id),
];
const danglingArgs = ({ roleId, quotaId }: StoredUserChanges): Value[] => [
  given(roleId),
  given(roleId),
  given(quotaId),
  given(quotaId),
];

/** Why a change of the user, or the creation of one without `id`, is refused. */
export const refusalOfUser = (id: number | undefined, changes: StoredUserChanges): Statement => ({
  sql: `SELECT ${IS_TAKEN} AS taken, ${IS_DANGLING} AS dangling`,
  args: [...takenArgs(id, changes), ...danglingArgs(changes)],
});

/**
 * Inserts nothing if name, identity or number are taken, or if the role or the quota does not exist. The
 * workspace has the name of the user, unless that was the workspace of another user.
 */
export const insertUser = (user: StoredNewUser): Statement => ({
  sql: `INSERT INTO users (${columns.names}, fs_uid, password_hash, folded_name, workspace)
    SELECT ${columns.marks}, COALESCE(?, (SELECT max(1000, ifnull(max(fs_uid), 0) + 1) FROM fs_uids)), ?, ?,
      ? || iif(EXISTS (SELECT 1 FROM workspaces WHERE name = ?), '.' || lower(hex(randomblob(4))), '')
    WHERE NOT ${IS_TAKEN} AND NOT ${IS_DANGLING}`,
  args: [
    ...columns.values(user),
    given(user.fsUid),
    given(user.passwordHash),
    folded(user.username),
    user.username,
    user.username,
    ...takenArgs(undefined, user),
    ...danglingArgs(user),
  ],
});

/**
 * Changes the given fields. Affects no row if there is no such user, if the last administrator would lose
 * that status, or where `refusalOfUser` has a reason.
 */
export function updateUser(id: number, changes: StoredUserChanges): Statement {
  const { roleId, enabled, authSource, fsUid, passwordHash, identity } = changes;
  // A change of the credentials or the permissions ends sessions and cached credentials.
  const access = [given(roleId), given(enabled), given(authSource)];
  return {
    sql: `UPDATE users SET ${columns.changed}, fs_uid = COALESCE(?, fs_uid),
      password_hash = iif(?, NULL, COALESCE(?, password_hash)),
      credential_version = credential_version + (? IS NOT NULL OR role_id <> COALESCE(?, role_id)
        OR enabled <> COALESCE(?, enabled) OR auth_source <> COALESCE(?, auth_source)),
      folded_name = COALESCE(?, folded_name)
      WHERE id = ? AND deleted = 0 AND (${IS_SPARE}
        OR (COALESCE(?, role_id) = role_id AND COALESCE(?, enabled) = 1 AND COALESCE(?, auth_source) = auth_source))
        AND NOT ${IS_TAKEN} AND NOT ${IS_DANGLING}`,
    args: [
      ...columns.given(changes),
      given(fsUid),
      Number(Boolean(identity)),
      given(passwordHash),
      given(passwordHash ?? (identity === undefined ? undefined : 1)),
      ...access,
      given(changes.foldedName),
      id,
      ...access,
      ...takenArgs(id, changes),
      ...danglingArgs(changes),
    ],
  };
}

/**
 * Disables the user at once, and frees the user name: no other name has a colon. Affects no row if there is
 * no such user, or for the last administrator. `purgeUsers` removes the row later.
 */
export const hideUser = (id: number): Statement => ({
  sql: `UPDATE users SET deleted = 1, enabled = 0, username = 'deleted:' || id, email = '', password_hash = NULL,
    credential_version = credential_version + 1, folded_name = NULL WHERE id = ? AND deleted = 0 AND ${IS_SPARE}`,
  args: [id],
});

/** Deletes the secrets of a user who is about to be hidden, if that is possible. */
export const deleteSecretsOf = (id: number): Statement => ({
  sql: `DELETE FROM user_secrets
    WHERE user_id = (SELECT id FROM users WHERE id = ? AND deleted = 0 AND ${IS_SPARE})`,
  args: [id],
});

/** Ids of the user's visible executions, even if the user is deleted. */
export async function listExecutionIds(db: Db, userId: number): Promise<number[]> {
  const rows = await db.query('SELECT id FROM executions WHERE user_id = ? AND deleted = 0 ORDER BY id', [
    userId,
  ]);
  return rows.map(({ id }) => Number(id));
}

/** Number of the user's visible executions, and of those that have not ended. */
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

/** Removes the rows of deleted users without executions. Their sessions are removed with them. */
export const purgeUsers: Statement = {
  sql: 'DELETE FROM users WHERE deleted = 1 AND NOT EXISTS (SELECT 1 FROM executions WHERE user_id = users.id)',
  args: [],
};

export const userOf = (row: Row): User => ({
  id: Number(row.id),
  ...columns.read(row),
  fsUid: Number(row.fs_uid),
  credentialVersion: Number(row.credential_version),
  ...(typeof row.workspace === 'string' && row.workspace !== row.username && { workspace: row.workspace }),
});
