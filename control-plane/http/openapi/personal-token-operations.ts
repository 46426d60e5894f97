/** Operations on personal access tokens for the OpenAPI document: below Berth's own path only (H483). */
import * as z from 'zod';
import {
  newPersonalTokenSchema,
  personalTokenFields,
  personalTokenFilter,
  personalTokenSchema,
} from '../json/personal-token-schemas.ts';
import type { Operation, Scheme } from './operation.ts';

export function personalTokenOperations(access: readonly Scheme[]): Operation[] {
  const common = { tag: 'Personal access tokens', isNative: true } as const;
  const withoutToken = access.filter((scheme) => scheme !== 'personalToken');
  return [
    {
      ...common,
      method: 'post',
      path: '/token',
      summary: 'Create a token of your own, by your password; the token is shown only in this answer',
      access: withoutToken,
      body: personalTokenFields,
      isMadeOnce: true,
      answer: newPersonalTokenSchema,
      errors: [400, 409, 413],
    },
    {
      ...common,
      method: 'get',
      path: '/token',
      summary: "List your tokens by id, or another user's for an administrator",
      access,
      query: personalTokenFilter,
      answer: z.record(z.string(), personalTokenSchema),
      errors: [400],
    },
    {
      ...common,
      method: 'delete',
      path: '/token/:id',
      summary: 'Revoke a token of your own, or any for an administrator',
      access: withoutToken,
      answer: 'empty',
      errors: [404],
    },
  ];
}
