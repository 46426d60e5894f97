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

/**
 * The app's `fetch`, with its answers counted. Not a middleware, which would cost short reads a tenth of
 * their time.
 */
export function counted(app: Hono<Env>, counts: HttpCounts): Hono<Env>['fetch'] {
  return (request, ...rest) => {
    const answer = app.fetch(request, ...rest);
    const count = ({ status }: Response) => counts.count(routeOf(app, request), status);
    if (answer instanceof Promise) void answer.then(count, () => {});
    else count(answer);
    return answer;
  };
}

function routeOf(app: Hono<Env>, request: Request): Route {
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const [handlers] = app.router.match(method, app.getPath(request));
  for (let at = handlers.length - 1; at >= 0; at--) {
    const route = handlers[at]?.[0][1];
    // Middleware accepts every method.
    if (route && route.method !== 'ALL') return route;
  }
  return NO_ROUTE;
}
