/**
 * The HTTP interface of the control plane: its routes, authentication and errors. The same on Node and
 * workerd.
 */
import { Hono, type Context as HonoContext, type MiddlewareHandler } from 'hono';
import { REGISTER_PATH } from '../shared/protocol/enrolment.ts';
import type { Logger } from './coordinator/ports.ts';
import type { PersonalTokenRules } from './core/accounts/personal-token.ts';
import type { SecretSettings } from './core/accounts/secret.ts';
import { OperationError } from './core/model/errors.ts';
import type { AddressOf } from './guard/address.ts';
import { BodyReader } from './guard/body-reader.ts';
import { ReadTurns } from './guard/read-turns.ts';
import { SecretFetches } from './guard/secret-fetches.ts';
import { UserShares } from './guard/user-shares.ts';
import { apiRoutes } from './http/api/api-routes.ts';
import type { AcceptStream, OpenDownload } from './http/api/route.ts';
import { askRoutes } from './http/apps/app-ask.ts';
import { withAppHosts } from './http/apps/app-hosts.ts';
import type { AppRequestsDeps } from './http/apps/app-requests.ts';
import { refuseCrossSite } from './http/cross-site.ts';
import type { ReadFile } from './http/files.ts';
import { counted } from './http/http-counts.ts';
import { noteBody } from './http/idempotency.ts';
import { type InstallSources, installRoutes } from './http/install.ts';
import { username } from './http/json/account-fields.ts';
import { empty, errorResponse, toOperationError } from './http/json/render.ts';
import { allowedMethods, UNSAFE_METHODS } from './http/methods.ts';
import { type Authenticating, type Env, identified } from './http/request.ts';
import { agentRoutes } from './http/routes/agents.ts';
import { DOCS_PATH, docsRoutes, documentRoute } from './http/routes/docs.ts';
import { healthRoutes } from './http/routes/health.ts';
import { METRICS_PATH, type MetricsSettings, metricsRoutes } from './http/routes/metrics.ts';
import { schemaRoutes } from './http/routes/schema.ts';
import { type StrictTransport, strictTransport } from './http/strict-transport.ts';
import type { Variant } from './http/variant.ts';
import { native } from './http/variants/native.ts';
import { replacedCredentials } from './operations/access-review.ts';
import { Authentication } from './operations/accounts/authentication.ts';
import type { AppSettings } from './operations/apps/settings.ts';
import type { Context } from './operations/context.ts';
import type { PasswordVerificationDeps } from './operations/passwords/password-verification.ts';
import { Passwords } from './operations/passwords/passwords.ts';
import { Seal } from './operations/secrets/seal.ts';
import type { ShopFiles } from './operations/shop/shop-files.ts';
import { SignOn } from './operations/sign-on/sign-on.ts';
import { API_PATH, NATIVE_PATH } from './version.ts';
import { errorPageWith, isBrowser, notFoundPage, wantsPage, webRoutes } from './web/app.ts';
import type { Gzip } from './web/compression.ts';
import type { WebDeps } from './web/context.ts';

export interface AppDeps
  extends Omit<Context, 'turns' | 'shares' | 'seal' | 'passwords'>,
    InstallSources,
    Omit<PasswordVerificationDeps, 'passwords'>,
    SecretSettings {
  variant: Variant;
  addressOf: AddressOf;
  /** log2 of scrypt's N for new passwords. Absent: the usual one. */
  passwordCost?: number | undefined;
  maxSessionsPerUser: number;
  personalTokenRules: PersonalTokenRules;
  swaggerFile: ReadFile;
  shopFiles: ShopFiles;
  guideFile: ReadFile;
  webFile: ReadFile;
  acceptStream: AcceptStream;
  /** Undefined if applications have neither host names nor paths. */
  apps?: (AppSettings & Pick<AppRequestsDeps, 'acceptApp'>) | undefined;
  download: OpenDownload;
  /** Bytes of the request bodies that are in memory at a time. */
  bodyMemoryBytes: number;
  /** Compresses pages; undefined on workerd, where the platform does. */
  gzip?: Gzip | undefined;
  log: Logger;
  /** Undefined if there are none. */
  metrics?: MetricsSettings | undefined;
  /** Undefined if clients never use https, or browsers must not remember it. */
  strictTransport?: StrictTransport | undefined;
  /** Throws StandbyError while this control plane waits. Undefined if it never does. */
  assertActive?: (() => void) | undefined;
  /** Migrates the database. Set where that is not done before the app starts; called for each request. */
  prepare?: () => Promise<void>;
  /** Requests wait for it. Undefined if none must. */
  opened?: Promise<void> | undefined;
}

/** Paths that work without a database: probes report its state, and documents and files are static. */
const NEEDS_NO_DATABASE =
  /^\/(healthz|readyz|(native\/)?openapi\.json|docs|docs\/.*|agent\/(?!v1\/).*|schema\/.*|assets\/.*)$/;

type Fetch = Hono<Env>['fetch'];

/** What the routes receive. */
type RouteDeps = AppDeps & Context & { bodies: BodyReader };

/**
 * Waiting for the start, applications at host names of their own and the counts come before the routes, in
 * this order. They wrap `fetch`: as middleware they would take a tenth of the time of a short read.
 */
export function createApp(settings: AppDeps): Hono<Env> {
  const app = new Hono<Env>();
  const { fetch: routed } = app;
  const deps: RouteDeps = {
    ...settings,
    bodies: new BodyReader({ ...settings, noteBody, memoryBytes: settings.bodyMemoryBytes }),
    turns: new ReadTurns(settings.nowMs),
    shares: new UserShares(settings.nowMs),
    seal: new Seal(settings.secretKeys ?? []),
    passwords: new Passwords(settings.passwordCost),
  };
  const fail = (c: HonoContext, error: OperationError | undefined) =>
    errorResponse(error, c.req.path.startsWith(`${NATIVE_PATH}/`) ? native : deps.variant);
  const authenticating = {
    authentication: new Authentication({
      ...deps,
      tokenRules: deps.variant.tokens,
      workSessionMs: deps.variant.workSessionMs,
      credentialsEnded: (userId) => replacedCredentials(deps, userId),
    }),
    addressOf: deps.addressOf,
    anew: (c: HonoContext) => routed(c.req.raw, c.env),
  };
  const web = webDeps(deps, authenticating);
  const fetches = new SecretFetches(deps);
  const limits = () => [
    deps.bodies.limit,
    deps.turns.limit,
    deps.shares.limit,
    ...authenticating.authentication.limits,
    ...(web.signOns?.limits ?? []),
  ];
  if (deps.strictTransport) app.use(strictTransport(deps.strictTransport));
  // Reads have no middleware on their way: it would take a tenth of the time of a short one.
  app.on(UNSAFE_METHODS, '*', fromThisSite(web));
  app.on(UNSAFE_METHODS, '*', identified);
  if (deps.assertActive) app.on(UNSAFE_METHODS, '*', changesWhenActive(deps.assertActive, deps, web));
  if (deps.prepare) app.use(prepared(deps.prepare, deps, web));
  app.route(API_PATH, apiRoutes({ ...deps, ...authenticating }, authenticating));
  app.route(NATIVE_PATH, apiRoutes({ ...deps, ...authenticating, variant: native }, authenticating));
  app.route('/', healthRoutes(deps));
  if (deps.metrics) app.route('/', metricsRoutes(deps, deps.metrics, limits, fetches.counts, authenticating));
  const agentFailed = (error: unknown) =>
    deps.log('request.failed', { path: REGISTER_PATH, error: String(error) });
  app.route('/', agentRoutes(deps, fetches, agentFailed));
  app.route('/', installRoutes(deps.agentFile));
  app.route('/', schemaRoutes());
  const { documentedAs } = deps.variant;
  app.route('/', documentRoute('/native/openapi.json', native, NATIVE_PATH));
  if (documentedAs) app.route('/', docsRoutes(deps.variant, deps.swaggerFile));
  if (deps.apps) app.route('/', askRoutes(deps, deps.apps));
  app.route('/', webRoutes(web));
  app.notFound((c) => {
    const { method, path } = c.req;
    const allow = allowedMethods(app, path);
    if (allow === '' && wantsPage(c)) return notFoundPage(c, web);
    // For example, the address to which a login returns after a form was sent too late.
    if (allow !== '' && !allow.includes('GET') && wantsPage(c))
      return c.redirect(path.slice(0, path.lastIndexOf('/')) || '/', 303);
    if (allow === '') return fail(c, new OperationError('not-found', `There is no ${path} here.`));
    const response =
      method === 'OPTIONS'
        ? empty(deps.variant.options)
        : fail(c, new OperationError('wrong-method', `${path} allows ${allow}, not ${method}.`));
    response.headers.set('allow', allow);
    return response;
  });
  app.onError((error, c) => {
    const operationError = toOperationError(error);
    if (!operationError || operationError.cause)
      deps.log('request.failed', { path: c.req.path, error: String(operationError?.cause ?? error) });
    if (operationError?.code === 'not-found' && wantsPage(c)) return notFoundPage(c, web);
    return fail(c, operationError);
  });
  if (deps.metrics) app.fetch = counted(app, deps.metrics.http);
  if (deps.apps) {
    const { acceptApp } = deps.apps;
    app.fetch = withAppHosts({ ...deps, apps: deps.apps, acceptApp }, app.fetch);
  }
  if (deps.opened) app.fetch = fromStart(deps.opened, app.fetch);
  return app;
}

/** Lets requests wait until the start is complete. */
function fromStart(opened: Promise<void>, fetch: Fetch): Fetch {
  let isOpen = false;
  void opened.then(() => {
    isOpen = true;
  });
  return (...request) => (isOpen ? fetch(...request) : opened.then(() => fetch(...request)));
}

const isUsername = (text: string): boolean => username.safeParse(text).success;

const webDeps = (deps: RouteDeps, { authentication, anew }: Authenticating): WebDeps => ({
  ...deps,
  authentication,
  anew,
  signOns: deps.signOn && new SignOn({ ...deps, isUsername }, deps.signOn),
  overQuota: deps.variant.overQuota,
  docsPath: deps.variant.documentedAs && DOCS_PATH,
  failed: (path, error) => deps.log('request.failed', { path, error: String(error) }),
});

/** Refuses a change that another site causes, before anything else is done for it. */
const fromThisSite =
  (web: WebDeps): MiddlewareHandler<Env> =>
  (c, next) => {
    try {
      refuseCrossSite(c);
    } catch (error) {
      if (isBrowser(c)) return errorPageWith(c, web, error);
      throw error;
    }
    return next();
  };

/**
 * Refuses changes while this control plane waits (H411). A login and a validation change nothing that another
 * control plane holds in memory; the registration of a host answers agents by itself.
 */
function changesWhenActive(
  assertActive: () => void,
  { variant }: AppDeps,
  web: WebDeps,
): MiddlewareHandler<Env> {
  const validations = [`${API_PATH}${variant.validatePath}`, `${NATIVE_PATH}${native.validatePath}`];
  const harmless = ['/login', ...validations, REGISTER_PATH];
  return (c, next) => {
    try {
      if (!harmless.includes(c.req.path)) assertActive();
    } catch (error) {
      if (isBrowser(c)) return errorPageWith(c, web, error);
      throw error;
    }
    return next();
  };
}

/** Prepares the database before any request that needs it. */
const prepared =
  (prepare: () => Promise<void>, { metrics }: AppDeps, web: WebDeps): MiddlewareHandler<Env> =>
  async (c, next) => {
    const { path } = c.req;
    const isFree = path === METRICS_PATH ? metrics?.access.by !== 'account' : NEEDS_NO_DATABASE.test(path);
    try {
      if (!isFree) await prepare();
    } catch (error) {
      if (isBrowser(c)) return errorPageWith(c, web, error);
      throw error;
    }
    return next();
  };
