/** Schemas of users in requests, and the operations behind their routes. */
import * as z from 'zod';
import { INTERNAL_SOURCE, type User } from '../../core/accounts/account.ts';
import type { NewUser, UserChanges, UserFilter } from '../../core/accounts/account-input.ts';
import { MAX_CREDENTIAL_LENGTH } from '../../core/accounts/password-policy.ts';
import { createUser, deleteUser, getUser, listUsers, updateUser } from '../../operations/accounts/users.ts';
import {
  booleanText,
  camelKeys,
  email,
  fsUid,
  id,
  integerText,
  name,
  username,
} from '../json/account-fields.ts';
import { userJson } from '../json/account-json.ts';
import type { Resource } from './resource.ts';

const authSource = name.meta({ examples: [INTERNAL_SOURCE] });

const fields = z.strictObject({
  username,
  email,
  role_id: id,
  quota_id: id,
  auth_source: authSource,
  fs_uid: fsUid,
  priority: z.int(),
  enabled: z.boolean(),
});

const filters = z.strictObject({
  username: z.string(),
  email: z.string(),
  role_id: integerText,
  quota_id: integerText,
  auth_source: z.string(),
  priority: integerText,
  enabled: booleanText,
});

// Only fields without a sensible default are required.
const body = fields.extend({
  email: email.default(''),
  auth_source: authSource.default(INTERNAL_SOURCE),
  fs_uid: fsUid.optional(),
  priority: z.int().default(0),
  enabled: z.boolean().default(true),
});

const changes = fields
  .extend({
    password: z.string().max(MAX_CREDENTIAL_LENGTH),
    current_password: z
      .string()
      .max(MAX_CREDENTIAL_LENGTH)
      .describe('Required for a new password of your own by cookie or token'),
  })
  .partial();

export const users: Resource<User, NewUser, UserChanges, UserFilter> = {
  kind: 'user',
  body: body.transform(camelKeys),
  changes: changes.transform(camelKeys),
  filter: filters.partial().transform(camelKeys),
  render: userJson,
  create: createUser,
  get: getUser,
  list: listUsers,
  update: updateUser,
  remove: deleteUser,
};

/** The longest that OpenID Connect allows. */
const MAX_SUBJECT_LENGTH = 255;

const subject = z
  .string()
  .min(1)
  .max(MAX_SUBJECT_LENGTH)
  .regex(/^[ -~]*$/, 'must consist of printable ASCII')
  .optional()
  .describe('Who the user is at the provider of the sign-on; makes it a user of the source oidc');

/** Users below Berth's own path can be linked to who they are at a provider (H532). */
export const withSubject = {
  body: body.extend({ subject }).transform(camelKeys),
  changes: changes.extend({ subject }).transform(camelKeys),
};
