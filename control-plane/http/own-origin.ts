/**
 * The address at which a client reaches Berth: the Host header, and the scheme that a proxy in front of Berth
 * states. A default port counts as none.
 */
import type { Context as HonoContext } from 'hono';

/** Whether the client uses HTTPS, to Berth or to a proxy in front of it. */
export const isHttps = (c: HonoContext): boolean =>
  new URL(c.req.url).protocol === 'https:' || isForwardedHttps(c);

/**
 * Whether a proxy states that the client uses HTTPS. The first of several had the client. For WebSockets some
 * proxies, such as Traefik, state wss.
 */
export const isForwardedHttps = (c: HonoContext): boolean =>
  /^[ \t]*(https|wss)[ \t]*(,|$)/i.test(c.req.header('x-forwarded-proto') ?? '');

/** Such as `https://berth.example.org`. */
export const ownOrigin = (c: HonoContext): string => {
  const scheme = isHttps(c) ? 'https:' : 'http:';
  return `${scheme}//${hostBy(c, scheme)}`;
};

/** Whether an address has the host and the port of this request. */
export const isOwnHost = (c: HonoContext, url: URL | null): url is URL =>
  url !== null && url.host === hostBy(c, url.protocol);

/** The host of the request, without the default port of the scheme. */
function hostBy(c: HonoContext, scheme: string): string {
  const { host } = new URL(c.req.url);
  return URL.parse(`${scheme}//${host}`)?.host ?? host;
}
