/** Metrics in the text format of Prometheus, outside of the API. */
import { Hono } from 'hono';
import type { SecretSettings } from '../../core/accounts/secret.ts';
import type { AppCounts } from '../../core/metrics/app-counts.ts';
import { type Family, merged, metricsText } from '../../core/metrics/family.ts';
import { type Limit, limitFamilies } from '../../core/metrics/limits.ts';
import type { FetchCounts } from '../../core/metrics/secret-counts.ts';
import { type ScrapeAccess, scrape } from '../../operations/cluster/metrics.ts';
import type { Context } from '../../operations/context.ts';
import { SecretMetrics } from '../../operations/secrets/secret-metrics.ts';
import { VERSION } from '../../version.ts';
import type { HttpCounts } from '../http-counts.ts';
import { type Authenticating, authenticated, bearerOf, type Env } from '../request.ts';

export const METRICS_PATH = '/metrics';

const TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface MetricsSettings {
  access: ScrapeAccess;
  /** How many hosts have metrics of their own. */
  maxHosts: number;
  http: HttpCounts;
  /** Undefined if applications have no host names. */
  apps?: AppCounts | undefined;
  /** The families of this process; absent where nothing is known of it. */
  process?: () => Family[];
}

/** `limits`: the bounds on what this process or isolate holds. */
export function metricsRoutes(
  context: Context & Pick<SecretSettings, 'secretRules'>,
  settings: MetricsSettings,
  limits: () => Limit[],
  fetches: FetchCounts,
  authenticating: Authenticating,
): Hono<Env> {
  const routes = new Hono<Env>();
  const secrets = new SecretMetrics({ ...context, ...context.secretRules }, fetches);
  if (settings.access.by === 'account') routes.use(METRICS_PATH, authenticated(authenticating));
  routes.get(METRICS_PATH, async (c) => {
    const bearer = bearerOf(c.req.header('authorization'));
    const actor = c.get('actor') ?? { kind: 'anonymous' };
    const ofCluster = await scrape(context, { bearer, actor }, settings);
    const families = merged([
      buildFamily(),
      ...ofCluster,
      ...limitFamilies(limits()),
      settings.http.family(),
      ...(settings.apps ? [settings.apps.family()] : []),
      ...authenticating.authentication.counts.families(),
      ...(await secrets.families()),
      ...(settings.process?.() ?? []),
    ]);
    return new Response(metricsText(families), {
      headers: { 'content-type': TYPE, 'cache-control': 'no-store' },
    });
  });
  return routes;
}

const buildFamily = (): Family => ({
  name: 'berth_build_info',
  help: 'The version of the control plane.',
  type: 'gauge',
  samples: [{ labels: { version: VERSION }, value: 1 }],
});
