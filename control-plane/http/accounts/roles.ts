/** Schemas of roles in requests, and the operations behind their routes. */
import * as z from 'zod';
import type { Role } from '../../core/accounts/account.ts';
import type { NameFilter, NewRole, RoleChanges } from '../../core/accounts/account-input.ts';
import { contractFlagNames } from '../../core/accounts/role-flags.ts';
import { snakeCase, snakeFields } from '../../core/model/field-names.ts';
import { createRole, deleteRole, getRole, listRoles, updateRole } from '../../operations/accounts/roles.ts';
import { camelKeys, name, nameFilter } from '../json/account-fields.ts';
import { roleJson } from '../json/account-json.ts';
import { flags, type RoleJson } from '../json/schemas.ts';
import type { Resource } from './resource.ts';

const roleName = name.describe('Name of the role');

/** A new role denies what its creator does not mention, but for the flag that the contract lacks (H687). */
const body = z.strictObject({
  name: roleName,
  ...snakeFields(contractFlagNames, (flag) => flags[snakeCase(flag)].default(false)),
  can_exec: flags.can_exec.default(true),
});
const changes = z.strictObject({ ...flags, name: roleName }).partial();

export type RoleFieldsJson = z.input<typeof body>;
export type RoleChangesJson = z.input<typeof changes>;

export const roles: Resource<Role, NewRole, RoleChanges, NameFilter> = {
  kind: 'role',
  body: body.transform(camelKeys),
  changes: changes.transform(camelKeys),
  filter: nameFilter,
  render: roleJson,
  create: createRole,
  get: (context, actor, id) => getRole(context, actor, id),
  list: listRoles,
  update: updateRole,
  remove: (context, actor, id) => deleteRole(context, actor, id),
};

/** Shown only below Berth's own path (H687). */
export const ownRoles = { render: (role: Role): RoleJson => ({ ...roleJson(role), can_exec: role.canExec }) };
