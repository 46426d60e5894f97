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
      id: 'createPersonalToken',
      summary: 'Create a token of your own, by your password; the token is shown only in this answer',
      description:
        'A token is no way to another token: the request needs the password, or a session with `current_password`.',
      access: withoutToken,
      body: personalTokenFields,
      isMadeOnce: true,
      answer: newPersonalTokenSchema,
      errors: [409],
    },
    {
      ...common,
      method: 'get',
      path: '/token',
      id: 'listPersonalTokens',
      summary: "List your tokens by id, or another user's for an administrator",
      description: 'The list has no token itself, but its scopes, its end and its last use.',
      access,
      query: personalTokenFilter,
      answer: z.record(z.string(), personalTokenSchema),
      errors: [],
    },
    {
      ...common,
      method: 'delete',
      path: '/token/:id',
      id: 'revokePersonalToken',
      summary: 'Revoke a token of your own, or any for an administrator',
      description: 'Requests with the token are refused from then on.',
      access: withoutToken,
      answer: 'empty',
      errors: [404],
    },
  ];
}
