/** Answers to methods that a path does not have. */
import type { Hono } from 'hono';
import type { Env } from './request.ts';

/** Methods that may change something. */
export const UNSAFE_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE'];
const METHODS = ['GET', ...UNSAFE_METHODS];
/** As Hono writes the path of what is done for all paths. */
const EVERYWHERE = '/*';

/**
 * The value of Allow for `path`; empty if the path does not exist. Middleware, which matches every method or
 * every path, does not count.
 */
export function allowedMethods(app: Hono<Env>, path: string): string {
  const found = METHODS.filter((method) =>
    app.router
      .match(method, path)[0]
      .some(([[, route]]) => route.method === method && route.path !== EVERYWHERE),
  );
  if (found.length === 0) return '';
  // Hono answers HEAD like GET, without the body.
  return [...found, ...(found.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
}
