/** Routes of the app shop, below Berth's own path only (H512). */
import * as z from 'zod';
import { pointerTo } from '../../../shared/application-problems.ts';
import { OperationError } from '../../core/model/errors.ts';
import { fillInFromShop, getShopEntry, listShop } from '../../operations/shop/shop.ts';
import { json } from '../json/render.ts';
import {
  filledInSchema,
  shopEntryDetailJson,
  shopEntryDetailSchema,
  shopEntryJson,
  shopEntrySchema,
  shopValuesSchema,
} from '../json/shop-schemas.ts';
import { checked } from '../request.ts';
import type { Route } from './route.ts';

const common = { tag: 'App shop', isNative: true, access: 'user' } as const;

export const shopRoutes: readonly Route[] = [
  {
    ...common,
    method: 'get',
    path: '/shop',
    id: 'listShopApplications',
    summary: 'List the applications that your role may see, by id',
    description: 'An application that is disabled for your role is not in the list.',
    answer: z.record(z.string(), shopEntrySchema),
    errors: [],
    async handle(c, deps) {
      const { entries, role } = await listShop(deps, c.get('actor'));
      return json(Object.fromEntries(entries.map((entry) => [entry.id, shopEntryJson(entry, role)])));
    },
  },
  {
    ...common,
    method: 'get',
    path: '/shop/:id',
    id: 'getShopApplication',
    summary: 'Read an application with its text',
    description: 'The text is Markdown.',
    answer: shopEntryDetailSchema,
    errors: [404],
    async handle(c, deps) {
      const { entry, role } = await getShopEntry(deps, c.get('actor'), c.req.param('id') ?? '');
      return json(shopEntryDetailJson(entry, role));
    },
  },
  {
    ...common,
    method: 'post',
    path: '/shop/:id',
    id: 'fillInShopApplication',
    summary: 'Fill values in; the answer has the description, which you may submit',
    description:
      'Nothing is submitted. Values that a parameter does not accept are a 400 with a problem for each.',
    body: shopValuesSchema,
    answer: filledInSchema,
    errors: [404],
    async handle(c, deps) {
      const values = async () => checked(shopValuesSchema, await deps.bodies.json(c), 'body').values;
      const filled = await fillInFromShop(deps, c.get('actor'), c.req.param('id') ?? '', values);
      if ('application' in filled) return json({ application: filled.application });
      const details = filled.problems.map(({ parameter, message }) => ({
        pointer: parameter === null ? '' : pointerTo(['values', parameter]),
        message,
      }));
      throw new OperationError('invalid', 'The application does not accept these values.', { details });
    },
  },
];
