/**
 * Users, roles and quotas in the forms of release 2018.12: its names, and what its command line really sends.
 */
import * as z from 'zod';
import type { Actor } from '../../core/accounts/account.ts';
import type { UserChanges } from '../../core/accounts/account-input.ts';
import { MAX_TIME_LIMIT_S } from '../../core/model/time-limit.ts';
import { deleteQuota, getQuota, updateQuota } from '../../operations/accounts/quotas.ts';
import { deleteRole, getRole } from '../../operations/accounts/roles.ts';
import { createUser, updateUser } from '../../operations/accounts/users.ts';
import type { Input } from '../../operations/accounts/write-outcome.ts';
import type { Context } from '../../operations/context.ts';
import { otherNames } from '../../operations/input.ts';
import { ownQuotas, quotaFields, quotas } from '../accounts/quotas.ts';
import { roles } from '../accounts/roles.ts';
import { users } from '../accounts/users.ts';
import { quotaJson, roleJson } from '../json/account-json.ts';
import type { Accounts } from '../variant.ts';

/** Applies `read` to each field of a body that is an object. Returns any other body unchanged. */
const mapFields =
  (read: (name: string, value: unknown) => [name: string, value: unknown]) =>
  (body: unknown): unknown =>
    typeof body === 'object' && body !== null && !Array.isArray(body)
      ? Object.fromEntries(Object.entries(body).map(([name, value]) => read(name, value)))
      : body;

/**
 * Ids may be text, `enabled` may be 0, 1, or the text of either or of a boolean, and an `email` of null is
 * none.
 */
function readUserField(name: string, value: unknown): [string, unknown] {
  const isId = name === 'role_id' || name === 'quota_id';
  if (isId && typeof value === 'string' && /^\d{1,15}$/.test(value)) return [name, Number(value)];
  if (name === 'enabled') return [name, FLAGS.get(String(value).toLowerCase()) ?? value];
  if (name === 'email' && value === null) return [name, ''];
  return [name, value];
}

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/** The fs_uid -1 means the next free one, like no fs_uid. */
const readNewUserField = (name: string, value: unknown): [string, unknown] =>
  name === 'fs_uid' && value === -1 ? [name, undefined] : readUserField(name, value);

const HOUR_S = 3_600;
const FULL_SHOP = 'can_access_full_zapp_shop';

const readRoleField = (name: string, value: unknown): [string, unknown] => [
  name === FULL_SHOP ? 'can_access_full_app_shop' : name,
  value,
];

/**
 * The longest time of an execution in hours, which is also what it has by default; 0 means no limit.
 */
const fieldsWithLimit = quotaFields.extend({
  runtime_limit: z
    .number()
    .min(0)
    .max(MAX_TIME_LIMIT_S / HOUR_S)
    .optional(),
});

/** As the fields of Berth. A limit of less than a second counts as one, since 0 is none. */
const withLimitInSeconds = ({
  runtime_limit: hours,
  ...fields
}: {
  runtime_limit?: number | undefined;
}): unknown => (hours === undefined ? fields : { ...fields, max_time_limit: Math.ceil(hours * HOUR_S) });

/** Fields of a user whose role and quota exist: unknown ones are `not-found`, as when read (H670). */
const withReferences =
  <T extends Pick<UserChanges, 'roleId' | 'quotaId'>>(
    context: Context,
    actor: Actor,
    input: Input<T>,
  ): Input<T> =>
  async () => {
    const fields = await input();
    if (fields.roleId !== undefined) await getRole(context, actor, fields.roleId, true);
    if (fields.quotaId !== undefined) await getQuota(context, actor, fields.quotaId, true);
    return fields;
  };

export const zoeAccounts: Accounts = {
  users: {
    ...users,
    create: (context, actor, input, readKey) =>
      createUser(context, actor, withReferences(context, actor, input), readKey),
    update: (context, actor, id, input, confirm) =>
      updateUser(context, actor, id, withReferences(context, actor, input), confirm),
    body: z.preprocess(mapFields(readNewUserField), users.body),
    changes: z.preprocess(mapFields(readUserField), users.changes),
  },
  roles: {
    ...roles,
    get: (context, actor, id) => getRole(context, actor, id, true),
    remove: (context, actor, id) => deleteRole(context, actor, id, true),
    body: z.preprocess(mapFields(readRoleField), roles.body).register(otherNames, [FULL_SHOP]),
    changes: z.preprocess(mapFields(readRoleField), roles.changes).register(otherNames, [FULL_SHOP]),
    render(role) {
      const { can_access_full_app_shop, ...rest } = roleJson(role);
      return { ...rest, [FULL_SHOP]: can_access_full_app_shop };
    },
  },
  quotas: {
    ...quotas,
    get: (context, actor, id) => getQuota(context, actor, id, true),
    update: (context, actor, id, input) => updateQuota(context, actor, id, input, true),
    remove: (context, actor, id) => deleteQuota(context, actor, id, true),
    body: fieldsWithLimit.transform(withLimitInSeconds).pipe(ownQuotas.body),
    changes: fieldsWithLimit.partial().transform(withLimitInSeconds).pipe(ownQuotas.changes),
    render: (quota) => ({ ...quotaJson(quota), runtime_limit: quota.maxTimeLimitS / HOUR_S }),
  },
};
