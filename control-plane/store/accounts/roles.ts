/** Rows of roles. */
import { ADMIN_ROLE, DEFAULT_ROLE, type Role } from '../../core/accounts/account.ts';
import type { NameFilter, NewRole, RoleChanges, WriteOutcome } from '../../core/accounts/account-input.ts';
import type { Db, Row, Statement } from '../db/db.ts';
import { allRows, given, writeOne } from './account-writes.ts';

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
  sql: `INSERT INTO roles (name, can_change_config, can_delete_executions, can_see_status,
    can_access_full_app_shop, can_operate_others, can_customize_resources, can_access_api, can_exec)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  args: values(role),
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
    sql: `UPDATE roles SET name = COALESCE(?, name), can_change_config = COALESCE(?, can_change_config),
      can_delete_executions = COALESCE(?, can_delete_executions), can_see_status = COALESCE(?, can_see_status),
      can_access_full_app_shop = COALESCE(?, can_access_full_app_shop),
      can_operate_others = COALESCE(?, can_operate_others),
      can_customize_resources = COALESCE(?, can_customize_resources), can_access_api = COALESCE(?, can_access_api),
      can_exec = COALESCE(?, can_exec)
      WHERE id = ? AND name <> '${ADMIN_ROLE}'`,
    args: [...values(changes), id],
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

const FLAGS = [
  'can_change_config',
  'can_delete_executions',
  'can_see_status',
  'can_access_full_app_shop',
  'can_operate_others',
  'can_customize_resources',
  'can_access_api',
  'can_exec',
];

/**
 * Gives the users of a role, also deleted ones, the role of plain users, if that allows them nothing more.
 * Like any change of a role, this ends their sessions.
 */
export const moveUsersOfRole = (id: number): Statement => ({
  sql: `UPDATE users SET credential_version = credential_version + 1,
      role_id = (SELECT id FROM roles WHERE name = '${DEFAULT_ROLE}')
    WHERE role_id = ? AND EXISTS (SELECT 1 FROM roles old JOIN roles fallback ON fallback.name = '${DEFAULT_ROLE}'
      WHERE old.id = users.role_id AND old.id <> fallback.id AND old.name <> '${ADMIN_ROLE}'
        AND ${FLAGS.map((flag) => `fallback.${flag} <= old.${flag}`).join(' AND ')})`,
  args: [id],
});

/** The built-in superusers of the earlier platform must not delete executions (H172). */
export const superuserKeepsExecutions: Statement = {
  sql: `UPDATE roles SET can_delete_executions = 0 WHERE name = 'superuser'`,
  args: [],
};

const values = (role: RoleChanges) => [
  given(role.name),
  given(role.canChangeConfig),
  given(role.canDeleteExecutions),
  given(role.canSeeStatus),
  given(role.canAccessFullAppShop),
  given(role.canOperateOthers),
  given(role.canCustomizeResources),
  given(role.canAccessApi),
  given(role.canExec),
];

const flag = (value: unknown) => value === 1;

export const roleOf = (row: Row): Role => ({
  id: Number(row.id),
  name: String(row.name),
  canChangeConfig: flag(row.can_change_config),
  canDeleteExecutions: flag(row.can_delete_executions),
  canSeeStatus: flag(row.can_see_status),
  canAccessFullAppShop: flag(row.can_access_full_app_shop),
  canOperateOthers: flag(row.can_operate_others),
  canCustomizeResources: flag(row.can_customize_resources),
  canAccessApi: flag(row.can_access_api),
  canExec: flag(row.can_exec),
});
