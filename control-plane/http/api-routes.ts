/** The routes of the API in one variant: those without authentication, those of users, and the accounts. */
import { Hono, type Context as HonoContext } from 'hono';
import { APPLICATION_FORMAT_VERSION } from '../../shared/application-schema.ts';
import { authorise } from '../core/accounts/account.ts';
import type { ConfirmPassword } from '../operations/accounts/users.ts';
import type { Context } from '../operations/context.ts';
import { descriptionSteps } from '../operations/executions/submission-input.ts';
import { API_VERSION } from '../version.ts';
import type { AddressOf } from './address.ts';
import { json, jsonText } from './json/render.ts';
import type { InfoJson } from './json/schemas.ts';
import { type OwnDeps, ownRoutes, type Proving } from './own-routes.ts';
import { type Authenticating, authenticated, claimed, type Env } from './request.ts';
import { resourceRoutes } from './resources/resource.ts';
import { eventRoutes } from './routes/events.ts';
import { executionRoutes } from './routes/executions.ts';
import { hostRoutes } from './routes/hosts.ts';
import type { InstallSources } from './routes/install.ts';
import { discoveryRoutes, serviceRoutes } from './routes/services.ts';
import { tokenRoutes } from './routes/tokens.ts';
import { type AcceptStream, type OpenDownload, streamRoutes } from './stream-routes.ts';
import type { Accounts } from './variants/variant.ts';

export interface ApiDeps extends Context, OwnDeps, InstallSources {
  addressOf: AddressOf;
  acceptStream: AcceptStream;
  download: OpenDownload;
}

/** The routes of the API in the variant of `deps`. */
export function apiRoutes(deps: ApiDeps, authenticating: Authenticating): Hono<Env> {
  const routes = new Hono<Env>();
  routes.route('/', publicRoutes(deps));
  routes.route('/', userRoutes(deps, { ...authenticating, cookieMs: deps.variant.workSessionMs }));
  return routes;
}

/** Routes without authentication (api-spec: Auth none). */
function publicRoutes(deps: ApiDeps): Hono<Env> {
  const routes = new Hono<Env>();
  const info: InfoJson = {
    version: deps.variant.version,
    deployment_name: deps.deploymentName,
    application_format_version: APPLICATION_FORMAT_VERSION,
    api_version: API_VERSION,
  };
  const infoText = JSON.stringify(info);
  routes.get('/info', () => jsonText(infoText));
  routes.post(deps.variant.validatePath, async (c) => {
    await deps.bodies.jsonInSteps(c, (body) => descriptionSteps(body, deps.variant.readDescription));
    return json(deps.variant.validated);
  });
  routes.get('/statistics/scheduler', async () => json(await deps.variant.statistics(deps)));
  if (!deps.variant.privateDiscovery) routes.route('/discovery', discoveryRoutes(deps, deps.variant));
  return routes;
}

function userRoutes(deps: ApiDeps, authenticating: Authenticating): Hono<Env> {
  const routes = new Hono<Env>();
  const { variant } = deps;
  const { authentication } = authenticating;
  // Hono's '/x/*' also matches '/x'.
  const authenticate = authenticated(authenticating);
  const ofWork = { workOnly: variant.workSessionMs !== undefined };
  const authenticateWork = authenticated(authenticating, ofWork);
  routes.post('/execution', claimed(authenticating, ofWork));
  routes.on('DELETE', ['/execution/:id', '/execution/delete/:id'], claimed(authenticating, ofWork));
  routes.use('/login', authenticated(authenticating, { needsSession: true }));
  for (const path of ['/execution/*', '/service/*']) routes.use(path, authenticateWork);
  for (const path of ['/host/*', '/events']) routes.use(path, authenticate);
  if (variant.userInfo) routes.use('/userinfo', authenticate);
  for (const path of variant.userInfo ? ['/login', '/userinfo'] : ['/login'])
    routes.get(path, (c) => json(variant.loginResult(authorise(c.get('actor'), { kind: 'login' }))));
  if (variant.privateDiscovery) {
    routes.use('/discovery/*', authenticateWork);
    routes.route('/discovery', discoveryRoutes(deps, variant));
  }
  routes.route('/execution', executionRoutes(deps, variant));
  if (variant.streams) routes.route('/service', streamRoutes(deps, deps, deps.addressOf));
  routes.route('/service', serviceRoutes(deps, variant));
  routes.route('/host', hostRoutes(deps, variant));
  if (variant.events) routes.route('/events', eventRoutes(deps, variant));
  const confirmIn =
    (c: HonoContext): ConfirmPassword =>
    (username, password) =>
      authentication.confirm(username, password, () => deps.addressOf(c));
  routes.route('/', ownRoutes(deps, authenticating, { authenticate, confirmIn }));
  if (variant.accounts) {
    routes.route('/', accountRoutes(deps, variant.accounts, { authenticate, confirmIn }));
  }
  if (variant.tokens && authentication.tokens) {
    // A client that requests an access token has none yet, and sends the refresh token.
    routes.use('/oauth/token', authenticated(authenticating, { kind: 'refresh' }));
    routes.use('/oauth/revoke/*', authenticate);
    routes.route('/oauth', tokenRoutes(deps, authentication.tokens, variant.tokens));
  }
  return routes;
}

function accountRoutes(
  deps: ApiDeps,
  { users, roles, quotas }: Accounts,
  { authenticate, confirmIn }: Proving,
): Hono<Env> {
  const routes = new Hono<Env>();
  for (const path of ['/user/*', '/role/*', '/quota/*']) routes.use(path, authenticate);
  routes.route('/user', resourceRoutes(deps, users, deps.variant, confirmIn));
  routes.route('/role', resourceRoutes(deps, roles, deps.variant, confirmIn));
  routes.route('/quota', resourceRoutes(deps, quotas, deps.variant, confirmIn));
  return routes;
}
