/** The routes of the HTTP API and of the web interface as the app lists them, for tests over all routes. */
import { type AppDeps, createApp } from '../../../control-plane/app.ts';
import { HttpCounts } from '../../../control-plane/http/http-counts.ts';
import type { Variant } from '../../../control-plane/http/variant.ts';
import { variants } from '../../../control-plane/http/variants/choose.ts';
import type { Group } from '../hosts/hosts.ts';

export interface Route {
  method: string;
  /** As the app lists it: `/api/0.7/execution/:id`. */
  path: string;
}

/** Matches paths that are not pages of the web interface (W rules). */
const NOT_A_PAGE =
  /^\/(api|agent|apps\/ask|docs|schema|healthz|metrics|readyz|(native\/)?openapi\.json)(\/|$)/;

/** Each route of the API once. */
export const routesOf = (group: Group, variant: Variant = variants[group]): Route[] =>
  registered(variant).filter(({ path }) => NOT_A_PAGE.test(path));

/** Each route of the web interface once. */
export const webRoutesOf = (variant: Variant = variants.B): Route[] =>
  registered(variant).filter(({ path }) => !NOT_A_PAGE.test(path) && !path.startsWith('/native/'));

/** Middleware, which accepts every method or every path, is not a route. */
function registered(variant: Variant): Route[] {
  // The dependencies that the app reads while it is assembled. No request is sent.
  const metrics = { access: { by: 'account' }, maxHosts: 0, http: new HttpCounts() } as const;
  const site = { scheme: 'https', suffix: '.apps.example.org', port: '' } as const;
  const apps = { site, publicUrl: 'https://berth.example.org', sharesSite: true };
  const app = createApp({ variant, deploymentName: 'test', metrics, apps } as AppDeps);
  const routes = new Map(app.routes.map(({ method, path }) => [`${method} ${path}`, { method, path }]));
  return [...routes.values()].filter(({ method, path }) => method !== 'ALL' && path !== '/*');
}
