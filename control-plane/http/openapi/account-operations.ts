/** Operations on users, roles and quotas for the OpenAPI document. */
import * as z from 'zod';
import { quotaSchema, roleSchema, userSchema } from '../json/schemas.ts';
import type { Accounts } from '../variants/variant.ts';
import type { Operation, Scheme } from './operation.ts';

const BODY_ERRORS = [400, 413];

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
  const [path, one] = [`/${kind}`, `/${kind}/:id`];
  return [
    {
      ...common,
      method: 'post',
      path,
      summary: `Create a ${kind}`,
      body,
      isMadeOnce: true,
      answer: z.strictObject({ [`${kind}_id`]: z.int().positive() }),
      errors: [...BODY_ERRORS, 409],
    },
    {
      ...common,
      method: 'get',
      path,
      summary: `List ${kind}s by id`,
      query: filter,
      answer: z.record(z.string(), schema),
      errors: [400],
    },
    {
      ...common,
      method: 'get',
      path: one,
      summary: `Read a ${kind}`,
      answer: z.strictObject({ [kind]: schema }),
      errors: [404],
    },
    {
      ...common,
      method: 'post',
      path: one,
      summary: `Change some fields of a ${kind}`,
      body: changes,
      answer: 'empty',
      errors: [...BODY_ERRORS, 404, 409],
    },
    {
      ...common,
      method: 'delete',
      path: one,
      summary: `Delete a ${kind}`,
      answer: 'empty',
      errors: [404, 409],
    },
  ];
}
