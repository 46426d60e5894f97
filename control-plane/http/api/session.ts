/** Routes of sessions: a login with its cookie, and access and refresh tokens where the variant has them. */
import * as z from 'zod';
import { authorise } from '../../core/accounts/account.ts';
import { reviewAccess } from '../../operations/access-review.ts';
import { json } from '../json/render.ts';
import { grantSchema } from '../json/request-schemas.ts';
import { groupSchemas, type TokenJson, tokenSchema } from '../json/schemas.ts';
import { checked } from '../request.ts';
import type { Variant } from '../variant.ts';
import type { Route } from './route.ts';

export const sessionRoutes = ({ documentedAs = 'B', tokens }: Variant): Route[] => [
  {
    method: 'get',
    path: '/login',
    tag: 'Session',
    id: 'logIn',
    summary: 'Log in; sets the session cookie',
    description: 'Basic credentials open a session, whose cookie replaces them in further requests.',
    access: 'login',
    answer: groupSchemas[documentedAs].login,
    errors: [],
    handle: (c, { variant }) => json(variant.loginResult(authorise(c.get('actor'), { kind: 'login' }))),
  },
  ...(tokens ? tokenRoutes : []),
];

const tokenRoutes: readonly Route[] = [
  {
    method: 'post',
    path: '/oauth/token',
    tag: 'Session',
    id: 'grantToken',
    summary: 'Get a pair of tokens for a password, or an access token for a refresh token',
    description:
      'Basic credentials with the grant `password` get both tokens. A refresh token, sent as the bearer token, with the grant `refresh_token` gets another access token.',
    access: 'refresh',
    body: grantSchema,
    answer: tokenSchema,
    errors: [],
    async handle(c, { bodies, authentication: { tokens } }) {
      const grantType = async () => checked(grantSchema, await bodies.json(c), 'body').grant_type;
      const granted = await existing(tokens).grant(c.get('proof'), grantType);
      return json({
        token_type: 'Bearer',
        access_token: granted.accessToken,
        refresh_token: granted.refreshToken,
        expires_in: granted.expiresInS,
      } satisfies TokenJson);
    },
  },
  {
    method: 'delete',
    path: '/oauth/revoke/:token',
    tag: 'Session',
    id: 'revokeToken',
    summary: 'Revoke a token; a refresh token takes its access tokens with it',
    description: 'Only the token of the caller is found.',
    access: 'user',
    refusesTokens: true,
    answer: z.strictObject({ ret: z.string().describe('Confirms the revocation, for people') }),
    errors: [404],
    async handle(c, deps) {
      const userId = await existing(deps.authentication.tokens).revoke(
        c.get('actor'),
        c.req.param('token') ?? '',
      );
      await reviewAccess(deps, userId);
      return json({ ret: 'Revoked token.' });
    },
  },
];

/** A variant with these routes has tokens. */
function existing<T>(tokens: T | undefined | null): T {
  if (!tokens) throw new Error('the variant has no tokens');
  return tokens;
}
