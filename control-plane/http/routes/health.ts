/** Health checks for probes, outside of the API and without credentials. */
import { Hono } from 'hono';
import { checkReadiness } from '../../operations/cluster/readiness.ts';
import type { Context } from '../../operations/context.ts';
import { json } from '../json/render.ts';
import type { Env } from '../request.ts';

export function healthRoutes(context: Context): Hono<Env> {
  const routes = new Hono<Env>();
  routes.get('/healthz', () => json({ status: 'ok' }));
  routes.get('/readyz', async () => {
    await checkReadiness(context);
    return json({ status: 'ok' });
  });
  return routes;
}
