/** Routes that users, roles and quotas have in common: parse, call the operation, render. */
import { Hono } from 'hono';
import type * as z from 'zod';
import type { Actor } from '../../core/accounts/account.ts';
import type { Input, Kind } from '../../operations/accounts/write-outcome.ts';
import type { Context } from '../../operations/context.ts';
import { empty, json } from '../json/render.ts';
import { checked, type Env, jsonBody, pathId, queryOf } from '../request.ts';
import type { Statuses } from '../words.ts';

export interface Resource<T extends { id: number }, New, Changes, Filter> {
  kind: Kind;
  body: z.ZodType<New>;
  changes: z.ZodType<Changes>;
  filter: z.ZodType<Filter>;
  render(one: T): unknown;
  create(context: Context, actor: Actor, input: Input<New>): Promise<number>;
  get(context: Context, actor: Actor, id: number): Promise<T>;
  list(context: Context, actor: Actor, filter: Input<Filter>): Promise<T[]>;
  update(context: Context, actor: Actor, id: number, input: Input<Changes>): Promise<void>;
  remove(context: Context, actor: Actor, id: number): Promise<void>;
}

export function resourceRoutes<T extends { id: number }, New, Changes, Filter>(
  context: Context,
  resource: Resource<T, New, Changes, Filter>,
  { created, removed }: Statuses,
): Hono<Env> {
  const routes = new Hono<Env>();
  routes.post('/', async (c) => {
    const id = await resource.create(context, c.get('actor'), async () =>
      checked(resource.body, await jsonBody(c), 'body'),
    );
    return json({ [`${resource.kind}_id`]: id }, created);
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
    await resource.update(context, c.get('actor'), pathId(c, 'id'), async () =>
      checked(resource.changes, await jsonBody(c), 'body'),
    );
    return empty(created);
  });
  routes.delete('/:id', async (c) => {
    await resource.remove(context, c.get('actor'), pathId(c, 'id'));
    return empty(removed);
  });
  return routes;
}
