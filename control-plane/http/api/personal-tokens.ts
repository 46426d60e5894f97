/** Routes of personal access tokens, below Berth's own path only (H483). */
import * as z from 'zod';
import {
  createPersonalToken,
  listPersonalTokens,
  revokePersonalToken,
} from '../../operations/accounts/personal-tokens.ts';
import { keyOf } from '../idempotency.ts';
import {
  type NewPersonalTokenJson,
  newPersonalTokenSchema,
  personalTokenFields,
  personalTokenFilter,
  personalTokenJson,
  personalTokenSchema,
} from '../json/personal-token-schemas.ts';
import { empty, json, secondsOf } from '../json/render.ts';
import { checked, confirmIn, pathId, queryOf } from '../request.ts';
import type { Route } from './route.ts';

const common = { tag: 'Personal access tokens', isNative: true, access: 'user' } as const;

export const personalTokenRoutes: readonly Route[] = [
  {
    ...common,
    method: 'post',
    path: '/token',
    id: 'createPersonalToken',
    summary: 'Create a token of your own, by your password; the token is shown only in this answer',
    description:
      'A token is no way to another token: the request needs the password, or a session with `current_password`.',
    refusesTokens: true,
    body: personalTokenFields,
    isMadeOnce: true,
    answer: newPersonalTokenSchema,
    errors: [409],
    async handle(c, deps) {
      const making = { tokens: deps.authentication.personalTokens, rules: deps.personalTokenRules };
      const input = async () => {
        const { expires_days, current_password, ...rest } = checked(
          personalTokenFields,
          await deps.bodies.json(c),
          'body',
        );
        return { ...rest, expiresDays: expires_days, currentPassword: current_password };
      };
      const made = await createPersonalToken(
        deps,
        making,
        c.get('actor'),
        input,
        confirmIn(c, deps),
        keyOf(c),
      );
      const answer: NewPersonalTokenJson = {
        token_id: made.id,
        token: made.token,
        expires_at: secondsOf(made.expiresMs),
      };
      return json(answer, deps.variant.created);
    },
  },
  {
    ...common,
    method: 'get',
    path: '/token',
    id: 'listPersonalTokens',
    summary: "List your tokens by id, or another user's for an administrator",
    description: 'The list has no token itself, but its scopes, its end and its last use.',
    query: personalTokenFilter,
    answer: z.record(z.string(), personalTokenSchema),
    errors: [],
    async handle(c, deps) {
      const filter = async () => ({ userId: checked(personalTokenFilter, queryOf(c), 'filter').user_id });
      const all = await listPersonalTokens(deps, c.get('actor'), filter);
      return json(Object.fromEntries(all.map((token) => [token.id, personalTokenJson(token)])));
    },
  },
  {
    ...common,
    method: 'delete',
    path: '/token/:id',
    id: 'revokePersonalToken',
    summary: 'Revoke a token of your own, or any for an administrator',
    description: 'Requests with the token are refused from then on.',
    refusesTokens: true,
    answer: 'empty',
    errors: [404],
    async handle(c, deps) {
      await revokePersonalToken(deps, c.get('actor'), pathId(c, 'id'));
      return empty(deps.variant.removed);
    },
  },
];
