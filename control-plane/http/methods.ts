/** Answers to methods that a path does not have. */
import type { Hono } from 'hono';
import type { Env } from './request.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * The value of Allow for `path`; empty if the path does not exist. Middleware, which matches every method,
 * does not count.
 */
export function allowedMethods(app: Hono<Env>, path: string): string {
  const found = METHODS.filter((method) =>
    app.router.match(method, path)[0].some(([[, route]]) => route.method === method),
  );
  if (found.length === 0) return '';
  // Hono answers HEAD like GET, without the body.
  return [...found, ...(found.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
}
