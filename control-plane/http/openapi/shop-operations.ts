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
      summary: 'List the applications that your role may see, by id',
      answer: z.record(z.string(), shopEntrySchema),
      errors: [],
    },
    {
      ...common,
      method: 'get',
      path: '/shop/:id',
      summary: 'Read an application with its text',
      answer: shopEntryDetailSchema,
      errors: [404],
    },
    {
      ...common,
      method: 'post',
      path: '/shop/:id',
      summary: 'Fill values in; the answer has the description, which you may submit',
      body: shopValuesSchema,
      answer: filledInSchema,
      errors: [400, 404, 413],
    },
  ];
}
