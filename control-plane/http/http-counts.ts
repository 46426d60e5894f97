/**
 * Counts of requests by route and status. Routes are patterns such as `/execution/:id`, so that the number of
 * counts is bounded, whatever clients request.
 */
import type { Hono } from 'hono';
import { counter, type Family } from '../core/metrics/family.ts';
import type { Env } from './request.ts';

interface Route {
  method: string;
  path: string;
}

/** Requests that no route takes. */
const NO_ROUTE: Route = { method: '', path: '' };

export class HttpCounts {
  readonly #byRoute = new Map<Route, Map<number, number>>();

  count(route: Route, status: number): void {
    let ofRoute = this.#byRoute.get(route);
    if (!ofRoute) {
      ofRoute = new Map();
      this.#byRoute.set(route, ofRoute);
    }
    ofRoute.set(status, (ofRoute.get(status) ?? 0) + 1);
  }

  family(): Family {
    return counter(
      'berth_http_requests_total',
      'Requests that were answered, by route and status; without a route those of unknown paths and methods.',
      [...this.#byRoute].flatMap(([{ method, path }, statuses]) =>
        Array.from(statuses, ([status, value]) => ({
          labels: { method, route: path, code: String(status) },
          value,
        })),
      ),
    );
  }
}

type Match = ReturnType<Hono<Env>['router']['match']>;

/**
 * The app's `fetch`, with its answers counted. Not a middleware, which would cost short reads a tenth of
 * their time. The app looks up the route first, before it waits for anything, so no second look is needed.
 */
export function counted(app: Hono<Env>, counts: HttpCounts): Hono<Env>['fetch'] {
  const { router, fetch } = app;
  const match = matchWithLiterals(app);
  let first: Match | undefined;
  app.router = {
    name: router.name,
    add: (...route) => router.add(...route),
    match: (method, path) => {
      const found = match(method, path);
      first ??= found;
      return found;
    },
  };
  return (request, ...rest) => {
    first = undefined;
    const answer = fetch(request, ...rest);
    const route = routeIn(first);
    if (answer instanceof Promise) void answer.then(({ status }) => counts.count(route, status), ignored);
    else counts.count(route, answer.status);
    return answer;
  };
}

/**
 * Looks up each route without parameters once: the search through all routes takes a third of what Berth adds
 * to the time of a short read. Only methods of routes are remembered, so there is a bound.
 */
function matchWithLiterals({ router, routes }: Hono<Env>): (method: string, path: string) => Match {
  const methods = new Set(routes.map(({ method }) => method));
  const found = new Map<string, Map<string, Match>>();
  for (const { path } of routes) if (!/[:*]/.test(path)) found.set(path, new Map());
  return (method, path) => {
    const ofPath = found.get(path);
    const known = ofPath?.get(method);
    if (known) return known;
    const match = router.match(method, path);
    if (methods.has(method)) ofPath?.set(method, match);
    return match;
  };
}

/** The caller of `fetch` gets the error. */
const ignored = () => {};

function routeIn(match: Match | undefined): Route {
  const handlers = match?.[0] ?? [];
  for (let at = handlers.length - 1; at >= 0; at--) {
    const route = handlers[at]?.[0][1];
    // Middleware accepts every method.
    if (route && route.method !== 'ALL') return route;
  }
  return NO_ROUTE;
}
