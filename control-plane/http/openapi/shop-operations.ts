/** Operations of the app shop for the OpenAPI document: below Berth's own path only (H512). */
import * as z from 'zod';
import {
  filledInSchema,
  shopEntryDetailSchema,
  shopEntrySchema,
  shopValuesSchema,
} from '../json/shop-schemas.ts';
import type { Operation, Scheme } from './operation.ts';

export function shopOperations(access: readonly Scheme[]): Operation[] {
  const common = { tag: 'App shop', isNative: true, access } as const;
  return [
    {
      ...common,
      method: 'get',
      path: '/shop',
      id: 'listShopApplications',
      summary: 'List the applications that your role may see, by id',
      description: 'An application that is disabled for your role is not in the list.',
      answer: z.record(z.string(), shopEntrySchema),
      errors: [],
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
    },
  ];
}
