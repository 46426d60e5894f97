/** Routes that users, roles and quotas have in common, and what each of the three is for them. */
import * as z from 'zod';
import type { Resource } from '../accounts/resource.ts';
import { keyOf, madeJson } from '../idempotency.ts';
import { empty, json } from '../json/render.ts';
import { idOf, quotaSchema, roleSchema, userSchema } from '../json/schemas.ts';
import { checked, confirmIn, pathId, queryOf } from '../request.ts';
import type { Variant } from '../variant.ts';
import type { Route } from './route.ts';

/** None if the variant has no accounts. */
export const accountRoutes = ({ accounts }: Variant): Route[] =>
  accounts
    ? [
        ...resourceRoutes(accounts.users, 'Users', userSchema),
        ...resourceRoutes(accounts.roles, 'Roles', roleSchema),
        ...resourceRoutes(accounts.quotas, 'Quotas', quotaSchema),
      ]
    : [];

function resourceRoutes<T extends { id: number }, New, Changes, Filter>(
  resource: Resource<T, New, Changes, Filter>,
  tag: string,
  schema: z.ZodType,
): Route[] {
  const { kind, body, changes, filter } = resource;
  const common = { tag, access: 'user' } as const;
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
      async handle(c, deps) {
        const input = async () => checked(body, await deps.bodies.json(c), 'body');
        const made = await resource.create(deps, c.get('actor'), input, keyOf(c));
        return madeJson(`${kind}_id`, made, deps.variant.created);
      },
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
      async handle(c, deps) {
        const wanted = async () => checked(filter, queryOf(c), 'filter');
        const all = await resource.list(deps, c.get('actor'), wanted);
        return json(Object.fromEntries(all.map((each) => [each.id, resource.render(each)])));
      },
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
      async handle(c, deps) {
        const found = await resource.get(deps, c.get('actor'), pathId(c, 'id'));
        return json({ [kind]: resource.render(found) });
      },
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
      async handle(c, deps) {
        const input = async () => checked(changes, await deps.bodies.json(c), 'body');
        await resource.update(deps, c.get('actor'), pathId(c, 'id'), input, confirmIn(c, deps));
        return empty(deps.variant.created);
      },
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
      async handle(c, deps) {
        await resource.remove(deps, c.get('actor'), pathId(c, 'id'));
        return empty(deps.variant.removed);
      },
    },
  ];
}
