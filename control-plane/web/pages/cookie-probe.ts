/** A cookie like that of a session, which shows whether the browser brings such cookies back. */
import { readOwnCookie, setOwnCookie } from '../../http/cookies.ts';
import { isHttps } from '../../http/own-origin.ts';
import type { WebContext } from '../context.ts';
import { sessionToken } from '../session.ts';

const PROBE = 'berth_login';
const PROBE_S = 7 * 24 * 3_600;

/** The field by which the login page states that it has set the cookie. Programs need not send it. */
export const PROBED = 'cookie';

export const setProbe = (c: WebContext): void =>
  setOwnCookie(c, PROBE, '1', { path: '/login', maxAgeS: PROBE_S });

/** Why a session would not come back; undefined if its cookie would. */
export function whyNoCookie(c: WebContext): string | undefined {
  if (readOwnCookie(c, PROBE) !== undefined || sessionToken(c) !== undefined) return undefined;
  const problem = 'Your browser has brought back no cookie of Berth, so a login would have no effect.';
  if (!isHttps(c)) return `${problem} Allow cookies for ${new URL(c.req.url).hostname}, and try again.`;
  const proto = c.req.header('x-forwarded-proto')?.slice(0, 100);
  const received = proto === undefined ? '' : ` (X-Forwarded-Proto: ${proto})`;
  return (
    `${problem} Berth received the request as https${received}, and such a cookie is kept at addresses that begin ` +
    'with https only. Open Berth by https, or have the proxy set X-Forwarded-Proto to the scheme that the browser uses.'
  );
}
