/** Owns the sentence that tells on the next page what became of an action. It travels in a cookie of its own, and is shown once. */
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { isHttps } from '../http/request.ts';
import type { WebContext } from './context.ts';

const COOKIE = 'berth_notice';
const MOST_LENGTH = 500;

export interface Notice {
  kind: 'done' | 'failed';
  text: string;
}

/** To `path`, which shows the notice. */
export function redirectWith(c: WebContext, path: string, { kind, text }: Notice): Response {
  setCookie(c, COOKIE, `${kind}:${text.slice(0, MOST_LENGTH)}`, {
    httpOnly: true,
    sameSite: 'Lax',
    path: '/',
    maxAge: 60,
    secure: isHttps(c),
  });
  return c.redirect(path, 303);
}

/** The notice that waits to be shown, which is then gone. A page that only refreshes itself leaves it. */
export function takeNotice(c: WebContext): Notice | undefined {
  const value = c.req.header('berth-refresh') === undefined ? getCookie(c, COOKIE) : undefined;
  if (value === undefined) return undefined;
  deleteCookie(c, COOKIE, { path: '/' });
  const [, kind, text = ''] = /^(done|failed):(.*)$/s.exec(value) ?? [];
  return kind ? { kind: kind as Notice['kind'], text } : undefined;
}
