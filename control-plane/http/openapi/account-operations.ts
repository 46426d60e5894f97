/** Operations on users, roles and quotas for the OpenAPI document. */
import * as z from 'zod';
import { idOf, quotaSchema, roleSchema, userSchema } from '../json/schemas.ts';
import type { Accounts } from '../variants/variant.ts';
import type { Operation, Scheme } from './operation.ts';

export const accountOperations = (
  { users, roles, quotas }: Accounts,
  access: readonly Scheme[],
): Operation[] => [
  ...resourceOperations(users, 'Users', userSchema, access),
  ...resourceOperations(roles, 'Roles', roleSchema, access),
  ...resourceOperations(quotas, 'Quotas', quotaSchema, access),
];

/** The five operations that users, roles and quotas have in common. */
function resourceOperations(
  { kind, body, changes, filter }: { kind: string; body: z.ZodType; changes: z.ZodType; filter: z.ZodType },
  tag: string,
  schema: z.ZodType,
  access: readonly Scheme[],
): Operation[] {
  const common = { tag, access };
  const Kind = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
  const [path, one] = [`/${kind}`, `/${kind}/:id`];
  return [
    {
      ...common,
      method: 'post',
      path,
      id: `create${Kind}`,
      summary: `Create a ${kind}`,
      description: `The role must allow to change the configuration. A ${kind} of that name must not exist.`,
      body,
      isMadeOnce: true,
      answer: z.strictObject({ [`${kind}_id`]: idOf(kind) }),
      errors: [409],
    },
    {
      ...common,
      method: 'get',
      path,
      id: `list${Kind}s`,
      summary: `List ${kind}s by id`,
      description: 'The role must allow to change the configuration. Several filters must all match.',
      query: filter,
      answer: z.record(z.string(), schema),
      errors: [],
    },
    {
      ...common,
      method: 'get',
      path: one,
      id: `get${Kind}`,
      summary: `Read a ${kind}`,
      description: `The role must allow to change the configuration${kind === 'user' ? ', unless it is your own user' : ''}.`,
      answer: z.strictObject({ [kind]: schema.describe(`The ${kind}`) }),
      errors: [404],
    },
    {
      ...common,
      method: 'post',
      path: one,
      id: `change${Kind}`,
      summary: `Change some fields of a ${kind}`,
      description: `Fields that the body lacks stay as they are.${kind === 'user' ? ' Everybody may change their own password and e-mail address.' : ''}`,
      body: changes,
      answer: 'empty',
      errors: [404, 409],
    },
    {
      ...common,
      method: 'delete',
      path: one,
      id: `delete${Kind}`,
      summary: `Delete a ${kind}`,
      description:
        kind === 'user'
          ? 'Also deletes the executions, tokens and secrets of the user, but not the files in the workspace.'
          : `A ${kind} that users still have is not deleted.`,
      answer: 'empty',
      errors: [404, 409],
    },
  ];
}
