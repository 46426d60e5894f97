/** Strict-Transport-Security: a browser that once came by https must not come by http again (RFC 6797). */
import type { Context as HonoContext, MiddlewareHandler } from 'hono';
import { isForwardedHttps } from './own-origin.ts';

export interface StrictTransport {
  /** How long browsers remember it. */
  maxAgeS: number;
  /** True if a proxy sets X-Forwarded-Proto. Otherwise a client might have sent that header itself. */
  behindProxy: boolean;
}

export function strictTransport({ maxAgeS, behindProxy }: StrictTransport): MiddlewareHandler {
  const isHttps = (c: HonoContext): boolean =>
    c.req.url.startsWith('https:') || (behindProxy && isForwardedHttps(c));
  return async (c, next) => {
    await next();
    // Not includeSubDomains: services on other names of the domain need not speak https.
    if (isHttps(c)) c.res.headers.set('strict-transport-security', `max-age=${maxAgeS}`);
  };
}
