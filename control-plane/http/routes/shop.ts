/** Routes of the app shop: parse, call the operation, render. */
import { Hono } from 'hono';
import { pointerTo } from '../../../shared/application-problems.ts';
import { OperationError } from '../../core/model/errors.ts';
import { fillInFromShop, getShopEntry, listShop, type ShopContext } from '../../operations/shop/shop.ts';
import type { BodyReader } from '../bodies/body-reader.ts';
import { json } from '../json/render.ts';
import { shopEntryDetailJson, shopEntryJson, shopValuesSchema } from '../json/shop-schemas.ts';
import { checked, type Env } from '../request.ts';

export function shopRoutes(context: ShopContext & { bodies: BodyReader }): Hono<Env> {
  const routes = new Hono<Env>();
  routes.get('/', async (c) => {
    const { entries, role } = await listShop(context, c.get('actor'));
    return json(Object.fromEntries(entries.map((entry) => [entry.id, shopEntryJson(entry, role)])));
  });
  routes.get('/:id', async (c) => {
    const { entry, role } = await getShopEntry(context, c.get('actor'), c.req.param('id'));
    return json(shopEntryDetailJson(entry, role));
  });
  routes.post('/:id', async (c) => {
    const values = async () => checked(shopValuesSchema, await context.bodies.json(c), 'body').values;
    const filled = await fillInFromShop(context, c.get('actor'), c.req.param('id'), values);
    if ('application' in filled) return json({ application: filled.application });
    const details = filled.problems.map(({ parameter, message }) => ({
      pointer: parameter === null ? '' : pointerTo(['values', parameter]),
      message,
    }));
    throw new OperationError('invalid', 'The application does not accept these values.', { details });
  });
  return routes;
}
