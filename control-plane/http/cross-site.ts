/**
 * Requests that another web site makes a browser send (CSRF). The browser adds by itself what it remembers of
 * this site: the cookie, and also Basic credentials.
 */
import type { Context as HonoContext } from 'hono';
import { OperationError } from '../core/model/errors.ts';
import { isOwnHost, ownOrigin } from './own-origin.ts';

/** Refuses a request that may change something if another site caused it, whatever its credential (H21). */
export function refuseCrossSite(c: HonoContext): void {
  if (siteOf(c) !== 'foreign') return;
  throw new OperationError('forbidden', `The request comes from another site.${behindProxy(c)}`);
}

/** Most characters of a header in a message. */
const MAX_SHOWN = 100;

/** What to do if the other site is Berth itself, behind a proxy that changes the host. */
function behindProxy(c: HonoContext): string {
  const origin = c.req.header('origin');
  if (c.req.header('sec-fetch-site') !== undefined || origin === undefined) return '';
  const shown = (text: string) => text.slice(0, MAX_SHOWN).toWellFormed();
  return (
    ` The browser opened it at ${shown(origin)} (Origin), and Berth received it for ${shown(ownOrigin(c))} (Host).` +
    ' If a proxy is between them, it must pass on the Host header with its port: in nginx, proxy_set_header Host $http_host.'
  );
}

/**
 * True if the answer to Basic credentials may set the session cookie: another site must not be able to log a
 * browser in (H320).
 */
export function maySetSession(c: HonoContext): boolean {
  if (isNavigation(c)) return false;
  const site = siteOf(c);
  return site === 'own' || (site === 'unknown' && !isBrowserRequest(c));
}

/**
 * True for a page that a person opens from this site or by its address. A link or a picture on another site
 * is none, whatever it is (H535).
 */
export function isOwnVisit(c: HonoContext): boolean {
  const site = siteOf(c);
  if (site !== 'unknown') return site === 'own';
  return isOwnHost(c, URL.parse(c.req.header('referer') ?? ''));
}

/**
 * The site that caused the request. It is unknown if the headers do not state it: for programs, and for the
 * reads of browsers over plain http.
 */
function siteOf(c: HonoContext): 'own' | 'foreign' | 'unknown' {
  const site = c.req.header('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin' || site === 'none' ? 'own' : 'foreign';
  const origin = c.req.header('origin');
  if (origin === undefined) return 'unknown';
  return isOwnHost(c, URL.parse(origin)) ? 'own' : 'foreign';
}

/** True if the browser opens the answer as a page. Any site can link to one, with credentials in the URL. */
const isNavigation = (c: HonoContext): boolean =>
  c.req.header('sec-fetch-mode') === 'navigate' || (c.req.header('accept') ?? '').includes('text/html');

/** True for the headers that all browsers send with each request, and that programs do not send together. */
const isBrowserRequest = (c: HonoContext): boolean =>
  c.req.header('accept-language') !== undefined && (c.req.header('user-agent') ?? '').startsWith('Mozilla/');
