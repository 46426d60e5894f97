/**
 * Cookies of Berth. Over https their names begin with `__Host-`: browsers then accept them from this host
 * alone, so that no application below the same domain can set one in their place (H720).
 */
import type { Context as HonoContext } from 'hono';
import { deleteCookie, generateCookie, getCookie } from 'hono/cookie';
import { hasSeveral, severalText } from '../core/apps/app-cookies.ts';
import { OperationError } from '../core/model/errors.ts';
import { isHttps } from './own-origin.ts';

interface Kept {
  maxAgeS: number;
  /** Where the browser sends it. Over https to every path, since the prefix requires that. */
  path?: string;
}

/** A Set-Cookie header. */
export const ownCookie = (name: string, value: string, secure: boolean, { maxAgeS, path = '/' }: Kept) =>
  generateCookie(cookieName(name, secure), value, {
    httpOnly: true,
    sameSite: 'Lax',
    path: secure ? '/' : path,
    maxAge: maxAgeS,
    secure,
  });

export const setOwnCookie = (c: HonoContext, name: string, value: string, kept: Kept): void =>
  c.header('set-cookie', ownCookie(name, value, isHttps(c), kept), { append: true });

/**
 * Undefined if the request has none, or different ones of that name. Over https only the one that no other
 * host can have set.
 */
export function readOwnCookie(c: HonoContext, name: string): string | undefined {
  const own = cookieName(name, isHttps(c));
  return hasSeveral(c.req.header('cookie'), own) ? undefined : getCookie(c, own);
}

/** The same for a cookie that logs somebody in. Throws if there are different ones: no login ends that. */
export function readProofCookie(c: HonoContext, name: string): string | undefined {
  const own = cookieName(name, isHttps(c));
  if (hasSeveral(c.req.header('cookie'), own))
    throw new OperationError('unauthenticated', severalText(own, new URL(c.req.url).hostname));
  return getCookie(c, own);
}

/**
 * Names and values of the request's cookies whose names begin so, in its order: browsers send the oldest
 * first.
 */
export function readOwnCookies(c: HonoContext, beginning: string): [name: string, value: string][] {
  const sent = cookieName(beginning, isHttps(c));
  return Object.entries(getCookie(c)).flatMap(([name, value]) =>
    name.startsWith(sent) ? [[beginning + name.slice(sent.length), value] as [string, string]] : [],
  );
}

export function dropOwnCookie(c: HonoContext, name: string, path = '/'): void {
  const secure = isHttps(c);
  deleteCookie(c, cookieName(name, secure), { path: secure ? '/' : path, secure });
}

export const cookieName = (name: string, secure: boolean): string => (secure ? `__Host-${name}` : name);
