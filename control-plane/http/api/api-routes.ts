/** The table of the API's routes in one variant, and the router that serves it. */
import { Hono, type MiddlewareHandler } from 'hono';
import { KnownDescriptions } from '../../operations/executions/known-descriptions.ts';
import { type Authenticating, authenticated, claimed, type Env } from '../request.ts';
import type { Variant } from '../variant.ts';
import { accountRoutes } from './accounts.ts';
import { auditRoutes } from './audit.ts';
import { eventRoutes } from './events.ts';
import { executionRoutes } from './executions.ts';
import { hostRoutes } from './hosts.ts';
import { personalTokenRoutes } from './personal-tokens.ts';
import { publicRoutes } from './public.ts';
import type { Access, ApiDeps, Route } from './route.ts';
import { secretRoutes } from './secrets.ts';
import { serviceRoutes } from './services.ts';
import { sessionRoutes } from './session.ts';
import { shopRoutes } from './shop.ts';

/** Those of the variant and of Berth's own path, in the order of the document. */
export function routesOf(variant: Variant): Route[] {
  const own = [
    ...publicRoutes(variant),
    ...sessionRoutes(variant),
    ...personalTokenRoutes,
    ...secretRoutes,
    ...shopRoutes,
    ...auditRoutes,
    ...executionRoutes(variant),
    ...serviceRoutes,
    ...eventRoutes,
    ...hostRoutes,
    ...accountRoutes(variant),
  ];
  return variant.adapt?.(own) ?? own;
}

/** Serves the routes of the variant of `deps`. */
export function apiRoutes(
  deps: Omit<ApiDeps, 'known'> & { variant: Variant },
  authenticating: Authenticating,
): Hono<Env> {
  const { variant } = deps;
  const all: ApiDeps = { ...deps, known: new KnownDescriptions() };
  const proving = provingOf({ ...authenticating, cookieMs: variant.workSessionMs });
  const served = new Hono<Env>();
  for (const { method, path, access, isNative, handle } of routesOf(variant))
    if (!isNative || variant.isNative)
      served.on(method.toUpperCase(), [path], ...proving[access], (c) => handle(c, all));
  return served;
}

/** Anonymous requests pass: operations refuse them. */
function provingOf(authenticating: Authenticating): Record<Access, MiddlewareHandler<Env>[]> {
  const workOnly = authenticating.cookieMs !== undefined;
  return {
    public: [],
    user: [authenticated(authenticating)],
    work: [authenticated(authenticating, { workOnly })],
    change: [claimed(authenticating, { workOnly })],
    login: [authenticated(authenticating, { needsSession: true })],
    // A client that requests an access token has none yet, and sends the refresh token.
    refresh: [authenticated(authenticating, { kind: 'refresh' })],
  };
}
