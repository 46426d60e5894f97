/**
 * Serves the host names of web applications, before the routes of Berth: neither ever answers at an address
 * of the other.
 */
import { Hono } from 'hono';
import { namedBy } from '../../core/apps/app-place.ts';
import type { AppName } from '../../core/apps/app-site.ts';
import { AppCounts } from '../../core/metrics/app-counts.ts';
import type { AppSettings } from '../../operations/apps/settings.ts';
import type { Context } from '../../operations/context.ts';
import { toOperationError } from '../json/render.ts';
import type { MetricsSettings } from '../routes/metrics.ts';
import { type StrictTransport, strictTransport } from '../strict-transport.ts';
import { appAnswer } from './app-answers.ts';
import { AppRequests, type AppRequestsDeps } from './app-requests.ts';

export interface AppHostsDeps extends Context, Pick<AppRequestsDeps, 'acceptApp' | 'addressOf'> {
  apps: AppSettings;
  metrics?: MetricsSettings | undefined;
  strictTransport?: StrictTransport | undefined;
  log: (event: 'request.failed', facts: Record<string, string>) => void;
  /** Throws StandbyError while this control plane waits. Undefined if it never does. */
  assertActive?: (() => void) | undefined;
  /** Migrates the database. Set where that is not done before. */
  prepare?: (() => Promise<void>) | undefined;
}

type Fetch = Hono['fetch'];
type Named = AppName | 'paths' | null;

/** `fetch`, which serves Berth's own addresses, with those of applications. */
export function withAppHosts(deps: AppHostsDeps, fetch: Fetch): Fetch {
  const { apps: sites } = deps;
  const counts = deps.metrics?.apps ?? new AppCounts();
  const apps = appRoutes(deps, counts);
  return (request, ...rest) => {
    const named = namedBy(sites, hostOf(request.url));
    const header = request.headers.get('host');
    const inHeader = header === null ? named : namedBy(sites, header);
    if (named === undefined && inHeader === undefined) return fetch(request, ...rest);
    if (!isSame(named ?? null, inHeader ?? null)) {
      counts.count('refused');
      return appAnswer(TWO_HOSTS, false);
    }
    return apps.fetch(request, ...rest);
  };
}

const isSame = (one: Named, other: Named): boolean =>
  one === other ||
  (isApp(one) && isApp(other) && one.port === other.port && one.serviceId === other.serviceId);

const isApp = (named: Named): named is AppName => named !== null && named !== 'paths';

/** True for a request, as Node's server has it, that `withAppHosts` would not pass to Berth's routes. */
export const isForApp = (
  apps: AppSettings | undefined,
  { url = '', headers }: { url?: string | undefined; headers: { host?: string | undefined } },
): boolean =>
  apps !== undefined && [headers.host ?? '', hostOf(url)].some((host) => namedBy(apps, host) !== undefined);

/** Without making a URL of it, since every request of Berth comes by here. '' if it names none. */
const hostOf = (url: string): string => /^https?:\/\/([^/?#\\]*)/i.exec(url)?.[1] ?? '';

const TWO_HOSTS = {
  status: 400,
  title: 'Invalid request',
  sentences: ['The request names two hosts.'],
} as const;

function appRoutes(deps: AppHostsDeps, counts: AppCounts): Hono {
  const { apps } = deps;
  const requests = new AppRequests({ ...deps, context: deps, counts });
  const routes = new Hono();
  if (deps.strictTransport) routes.use(strictTransport(deps.strictTransport));
  routes.all('*', async (c) => {
    deps.assertActive?.();
    await deps.prepare?.();
    return requests.answer(c, namedBy(apps, hostOf(c.req.url)) ?? null);
  });
  routes.onError((error, c) => {
    const known = toOperationError(error);
    // Without the path, which is the application's.
    if (!known || known.cause)
      deps.log('request.failed', {
        path: '/',
        host: hostOf(c.req.url),
        error: String(known?.cause ?? error),
      });
    return requests.refuse(c, known);
  });
  return routes;
}
