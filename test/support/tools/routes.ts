/** Owns the list of what the HTTP API has, as the app itself tells it: tests over all routes need no list of their own. */
import { type AppDeps, createApp } from '../../../control-plane/app.ts';
import { variants } from '../../../control-plane/http/variants/choose.ts';
import type { Variant } from '../../../control-plane/http/variants/variant.ts';
import type { Group } from '../hosts/hosts.ts';

export interface Route {
  method: string;
  /** As the app has it: `/api/0.7/execution/:id`. */
  path: string;
}

/** All that is no page of the web interface (W rules). */
const NOT_A_PAGE = /^\/(api|agent|docs|schema|healthz|readyz|openapi\.json)(\/|$)/;

/** Each route once, but for pages. Middleware, which takes every method, is none. */
export function routesOf(group: Group, variant: Variant = variants[group]): Route[] {
  // Only what the app looks at while it is put together; nothing is asked of it.
  const app = createApp({ variant, deploymentName: 'test' } as AppDeps);
  const routes = new Map(app.routes.map(({ method, path }) => [`${method} ${path}`, { method, path }]));
  return [...routes.values()].filter(({ method, path }) => method !== 'ALL' && NOT_A_PAGE.test(path));
}
