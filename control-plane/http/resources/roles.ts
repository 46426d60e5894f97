/** Schemas of roles in requests, and the operations behind their routes. */
import * as z from 'zod';
import type { Role } from '../../core/accounts/account.ts';
import type { NameFilter, NewRole, RoleChanges } from '../../core/accounts/account-input.ts';
import { createRole, deleteRole, getRole, listRoles, updateRole } from '../../operations/accounts/roles.ts';
import { camelKeys, name, nameFilter } from '../json/account-fields.ts';
import { roleJson } from '../json/account-json.ts';
import type { RoleJson } from '../json/schemas.ts';
import type { Resource } from './resource.ts';

const flags = z.strictObject({
  can_change_config: z.boolean(),
  can_delete_executions: z.boolean(),
  can_see_status: z.boolean(),
  can_access_full_app_shop: z.boolean(),
  can_operate_others: z.boolean(),
  can_customize_resources: z.boolean(),
  can_access_api: z.boolean(),
  can_exec: z.boolean(),
});

/** A new role denies what its creator does not mention, but for the flag that the contract lacks (H687). */
const off = z.boolean().default(false);

export const roles: Resource<Role, NewRole, RoleChanges, NameFilter> = {
  kind: 'role',
  body: z
    .strictObject({
      name,
      can_change_config: off,
      can_delete_executions: off,
      can_see_status: off,
      can_access_full_app_shop: off,
      can_operate_others: off,
      can_customize_resources: off,
      can_access_api: off,
      can_exec: z.boolean().default(true),
    })
    .transform(camelKeys),
  changes: flags.extend({ name }).partial().transform(camelKeys),
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
