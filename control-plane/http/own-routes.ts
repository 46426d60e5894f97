/**
 * Routes that only some variants have: secrets, and below Berth's own path personal access tokens, the app
 * shop and the audit log.
 */
import { Hono, type Context as HonoContext, type MiddlewareHandler } from 'hono';
import type { PersonalTokenRules } from '../core/accounts/personal-token.ts';
import { type SecretRules, secretKinds } from '../core/accounts/secret.ts';
import type { ConfirmPassword } from '../operations/accounts/users.ts';
import type { ShopContext } from '../operations/shop/shop.ts';
import type { BodyReader } from './bodies/body-reader.ts';
import type { Authenticating, Env } from './request.ts';
import { registryRoutes } from './resources/registries.ts';
import { secretRoutes } from './resources/secrets.ts';
import { auditRoutes } from './routes/audit.ts';
import { personalTokenRoutes } from './routes/personal-tokens.ts';
import { shopRoutes } from './routes/shop.ts';
import type { Variant } from './variants/variant.ts';

export interface OwnDeps extends ShopContext {
  bodies: BodyReader;
  variant: Variant;
  personalTokenRules: PersonalTokenRules;
  secretRules: SecretRules;
}

/** How requests show who sends them. */
export interface Proving {
  authenticate: MiddlewareHandler<Env>;
  confirmIn: (c: HonoContext) => ConfirmPassword;
}

/** As far as the variant of `deps` has them. */
export function ownRoutes(
  deps: OwnDeps,
  { authentication }: Authenticating,
  { authenticate, confirmIn }: Proving,
): Hono<Env> {
  const routes = new Hono<Env>();
  const { variant } = deps;
  if (variant.personalTokens) {
    routes.use('/token/*', authenticate);
    const making = { tokens: authentication.personalTokens, rules: deps.personalTokenRules };
    routes.route('/token', personalTokenRoutes(deps, making, variant, confirmIn));
  }
  if (variant.secrets) {
    for (const kind of secretKinds) {
      routes.use(`/${kind}/*`, authenticate);
      routes.route(`/${kind}`, secretRoutes(deps, kind, variant));
    }
    routes.use('/registry/*', authenticate);
    routes.route('/registry', registryRoutes(deps, variant));
  }
  if (variant.shop) {
    routes.use('/shop/*', authenticate);
    routes.route('/shop', shopRoutes(deps));
  }
  if (variant.audit) {
    routes.use('/audit', authenticate);
    routes.route('/audit', auditRoutes(deps));
  }
  return routes;
}
