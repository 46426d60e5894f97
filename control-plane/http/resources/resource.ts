/** Routes that users, roles and quotas have in common: parse, call the operation, render. */
import { Hono, type Context as HonoContext } from 'hono';
import type * as z from 'zod';
import type { Actor } from '../../core/accounts/account.ts';
import type { Made } from '../../core/model/idempotency.ts';
import type { ConfirmPassword } from '../../operations/accounts/users.ts';
import type { Input, Kind } from '../../operations/accounts/write-outcome.ts';
import type { Context, ReadKey } from '../../operations/context.ts';
import type { BodyReader } from '../bodies/body-reader.ts';
import { keyOf, madeJson } from '../idempotency.ts';
import { empty, json } from '../json/render.ts';
import { checked, type Env, pathId, queryOf } from '../request.ts';
import type { Statuses } from '../words.ts';

export interface Resource<T extends { id: number }, New, Changes, Filter> {
  kind: Kind;
  body: z.ZodType<New>;
  changes: z.ZodType<Changes>;
  filter: z.ZodType<Filter>;
  render(one: T): unknown;
  create(context: Context, actor: Actor, input: Input<New>, readKey: ReadKey): Promise<Made>;
  get(context: Context, actor: Actor, id: number): Promise<T>;
  list(context: Context, actor: Actor, filter: Input<Filter>): Promise<T[]>;
  update(
    context: Context,
    actor: Actor,
    id: number,
    input: Input<Changes>,
    confirm: ConfirmPassword,
  ): Promise<void>;
  remove(context: Context, actor: Actor, id: number): Promise<void>;
}

/** `confirmIn` verifies a password for the client of a request. */
export function resourceRoutes<T extends { id: number }, New, Changes, Filter>(
  context: Context & { bodies: BodyReader },
  resource: Resource<T, New, Changes, Filter>,
  { created, removed }: Statuses,
  confirmIn: (c: HonoContext) => ConfirmPassword,
): Hono<Env> {
  const routes = new Hono<Env>();
  routes.post('/', async (c) => {
    const input = async () => checked(resource.body, await context.bodies.json(c), 'body');
    const made = await resource.create(context, c.get('actor'), input, keyOf(c));
    return madeJson(`${resource.kind}_id`, made, created);
  });
  routes.get('/', async (c) => {
    const all = await resource.list(context, c.get('actor'), async () =>
      checked(resource.filter, queryOf(c), 'filter'),
    );
    return json(Object.fromEntries(all.map((one) => [one.id, resource.render(one)])));
  });
  routes.get('/:id', async (c) => {
    const one = await resource.get(context, c.get('actor'), pathId(c, 'id'));
    return json({ [resource.kind]: resource.render(one) });
  });
  routes.post('/:id', async (c) => {
    const changes = async () => checked(resource.changes, await context.bodies.json(c), 'body');
    await resource.update(context, c.get('actor'), pathId(c, 'id'), changes, confirmIn(c));
    return empty(created);
  });
  routes.delete('/:id', async (c) => {
    await resource.remove(context, c.get('actor'), pathId(c, 'id'));
    return empty(removed);
  });
  return routes;
}
