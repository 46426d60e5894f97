/** Schemas of users in requests, and the operations behind their routes. */
import * as z from 'zod';
import { INTERNAL_SOURCE, type User } from '../../core/accounts/account.ts';
import type { NewUser, UserChanges, UserFilter } from '../../core/accounts/account-input.ts';
import { MAX_CREDENTIAL_LENGTH } from '../../core/accounts/password-policy.ts';
import { type Identity, isSubject, MAX_SUBJECT_LENGTH } from '../../core/accounts/sign-on.ts';
import {
  createUser,
  deleteUser,
  getLinkedUser,
  getUser,
  listUsers,
  updateUser,
} from '../../operations/accounts/users.ts';
import { booleanText, camelKeys, email, fsUid, integerText, name, username } from '../json/account-fields.ts';
import { userJson } from '../json/account-json.ts';
import { idOf, type UserJson } from '../json/schemas.ts';
import type { Resource } from './resource.ts';

const authSource = name
  .meta({ examples: [INTERNAL_SOURCE] })
  .describe('What verifies the password, e.g. internal for Berth itself');
const emailAddress = email.describe('E-mail address; may be empty');
const uid = fsUid.describe('User id of the processes and files of the containers; by default a free one');
const priority = z.int().describe('Executions of users with a higher priority start first');
const enabled = z.boolean().describe('Whether the user may log in');

const fields = z.strictObject({
  username: username.describe('Name for logging in'),
  email: emailAddress,
  role_id: idOf('role'),
  quota_id: idOf('quota'),
  auth_source: authSource,
  fs_uid: uid,
  priority,
  enabled,
});

const filters = z.strictObject({
  username: z.string().describe('The whole name'),
  email: z.string().describe('The whole address'),
  role_id: integerText.describe('Id of the role'),
  quota_id: integerText.describe('Id of the quota'),
  auth_source: z.string().describe('What verifies the password'),
  priority: integerText.describe('The priority'),
  enabled: booleanText.describe('Whether the user may log in'),
});

// Only fields without a sensible default are required.
const body = fields.extend({
  email: emailAddress.default(''),
  auth_source: authSource.default(INTERNAL_SOURCE),
  fs_uid: uid.optional(),
  priority: priority.default(0),
  enabled: enabled.default(true),
});

const changes = fields
  .extend({
    password: z.string().max(MAX_CREDENTIAL_LENGTH).describe('A new password'),
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

/** Who a user is at a provider. */
export const subject = z
  .string()
  .min(1)
  .max(MAX_SUBJECT_LENGTH)
  .refine(isSubject, 'must consist of printable characters')
  .describe('Who the user is at the provider of the sign-on; makes it a user of the source oidc');
const issuer = z
  .string()
  .max(1_000)
  .optional()
  .describe('The provider that the subject is meant for: it must be that of the setting');

/** Users below Berth's own path can be linked to who they are at a provider (H532, H644). */
export const linkable = {
  body: body.extend({ subject: subject.optional(), issuer }).transform(camelKeys),
  changes: changes
    .extend({
      subject: subject.nullable().optional().describe(`${subject.description}; null unlinks it`),
      issuer,
    })
    .transform(camelKeys),
  get: getLinkedUser,
  render: (user: User & { identity?: Identity | null }): UserJson => ({
    ...userJson(user),
    ...(user.identity !== undefined && { subject: user.identity?.subject ?? null }),
  }),
};

export type UserFieldsJson = z.input<typeof linkable.body>;
export type UserChangesJson = z.input<typeof linkable.changes>;
