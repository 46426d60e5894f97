/** Rows of roles. */
import { ADMIN_ROLE, DEFAULT_ROLE, type Role } from '../../core/accounts/account.ts';
import type { NameFilter, NewRole, RoleChanges, WriteOutcome } from '../../core/accounts/account-input.ts';
import { type RoleFlag, roleFlagNames } from '../../core/accounts/role-flags.ts';
import { snakeCase } from '../../core/model/field-names.ts';
import { Columns, flag, text } from '../db/columns.ts';
import type { Db, Row, Statement } from '../db/db.ts';
import { allRows, given, writeOne } from './account-writes.ts';

const flags = Object.fromEntries(roleFlagNames.map((name) => [name, flag]));
const columns = new Columns({ name: text, ...(flags as Record<RoleFlag, typeof flag>) });

/** The columns of the flags. */
export const ROLE_FLAGS: readonly string[] = roleFlagNames.map(snakeCase);

export async function findRole(db: Db, id: number): Promise<Role | undefined> {
  const [row] = await db.query('SELECT * FROM roles WHERE id = ? LIMIT 1', [id]);
  return row && roleOf(row);
}

export async function listRoles(db: Db, { name }: NameFilter): Promise<Role[]> {
  const sql = 'SELECT * FROM roles WHERE id > ? AND name = COALESCE(?, name) ORDER BY id LIMIT ?';
  return (await allRows(db, sql, [given(name)])).map(roleOf);
}

/** Inserts nothing if the name is taken. */
export const insertRole = (role: NewRole): Statement => ({
  sql: `INSERT INTO roles (${columns.names}) VALUES (${columns.marks}) ON CONFLICT DO NOTHING`,
  args: columns.values(role),
});

/**
 * Changes the given fields, and runs `audit` in the same transaction. Refused if there is no such role, or if
 * it is the administrators'.
 */
export const updateRole = (
  db: Db,
  id: number,
  changes: RoleChanges,
  audit: Statement,
): Promise<WriteOutcome> =>
  writeOne(db, id, audit, {
    sql: `UPDATE roles SET ${columns.changed} WHERE id = ? AND name <> '${ADMIN_ROLE}'`,
    args: [...columns.given(changes), id],
  });

/** The same. Also refused if the role is in use. */
export const deleteRole = (db: Db, id: number, audit: Statement): Promise<WriteOutcome> =>
  writeOne(db, id, audit, deletionOfRole(id));

/** Affects no row if there is no such role, or if it is in use or the administrators'. */
export const deletionOfRole = (id: number): Statement => ({
  sql: `DELETE FROM roles WHERE id = ? AND name <> '${ADMIN_ROLE}'
    AND NOT EXISTS (SELECT 1 FROM users WHERE role_id = roles.id)`,
  args: [id],
});

/**
 * Gives the users of a role, also deleted ones, the role of plain users, if that allows them nothing more.
 * Like any change of a role, this ends their sessions.
 */
export const moveUsersOfRole = (id: number): Statement => ({
  sql: `UPDATE users SET credential_version = credential_version + 1,
      role_id = (SELECT id FROM roles WHERE name = '${DEFAULT_ROLE}')
    WHERE role_id = ? AND EXISTS (SELECT 1 FROM roles old JOIN roles fallback ON fallback.name = '${DEFAULT_ROLE}'
      WHERE old.id = users.role_id AND old.id <> fallback.id AND old.name <> '${ADMIN_ROLE}'
        AND ${ROLE_FLAGS.map((flag) => `fallback.${flag} <= old.${flag}`).join(' AND ')})`,
  args: [id],
});

/** Changes the role of this name. */
export const changeOfBuiltIn = (name: string, changes: RoleChanges): Statement => ({
  sql: `UPDATE roles SET ${columns.changed} WHERE name = ?`,
  args: [...columns.given(changes), name],
});

export const roleOf = (row: Row): Role => ({ id: Number(row.id), ...columns.read(row) });
