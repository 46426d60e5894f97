/** Routes of tokens: parse, call the operation, render. */
import { Hono } from 'hono';
import { reviewAccess } from '../../operations/access-review.ts';
import type { Granted, Tokens } from '../../operations/accounts/tokens.ts';
import type { Context } from '../../operations/context.ts';
import type { BodyReader } from '../bodies/body-reader.ts';
import { json } from '../json/render.ts';
import { grantSchema } from '../json/request-schemas.ts';
import type { TokenJson } from '../json/schemas.ts';
import { checked, type Env } from '../request.ts';
import type { TokenVariant } from '../variants/variant.ts';

export function tokenRoutes(
  context: Context & { bodies: BodyReader },
  tokens: Tokens,
  variant: TokenVariant,
): Hono<Env> {
  const routes = new Hono<Env>();
  routes.post('/token', async (c) => {
    const grantType = async () => checked(grantSchema, await context.bodies.json(c), 'body').grant_type;
    return json(grantedJson(await tokens.grant(c.get('proof'), grantType)));
  });
  routes.delete('/revoke/:token', async (c) => {
    const userId = await tokens.revoke(c.get('actor'), c.req.param('token'));
    await reviewAccess(context, userId);
    return json(variant.revokedResult('Revoked token.'));
  });
  return routes;
}

const grantedJson = ({ accessToken, refreshToken, expiresInS }: Granted): TokenJson => ({
  token_type: 'Bearer',
  access_token: accessToken,
  refresh_token: refreshToken,
  expires_in: expiresInS,
});
