/** Owns the sentence that tells on the next page what became of an action. It travels in a cookie of its own, and is shown once. */
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { OperationError } from '../../core/model/errors.ts';
import { isHttps } from '../../http/request.ts';
import type { WebContext } from '../context.ts';

const COOKIE = 'berth_notice';
const MAX_NOTICE_LENGTH = 500;

export interface Notice {
  kind: 'done' | 'failed';
  text: string;
}

/** To `path`, which shows the notice. */
export function redirectWith(c: WebContext, path: string, { kind, text }: Notice): Response {
  setCookie(c, COOKIE, `${kind}:${text.slice(0, MAX_NOTICE_LENGTH)}`, {
    httpOnly: true,
    sameSite: 'Lax',
    path: '/',
    maxAge: 60,
    secure: isHttps(c),
  });
  return c.redirect(path, 303);
}

/** What the operations refuse for the state of things or for what was asked; the rest is a page of its own. */
export const isOperationError = (error: unknown): error is OperationError =>
  error instanceof OperationError && ['conflict', 'invalid', 'too-many'].includes(error.code);

/** Does it and goes on to `path` with `done`, or with why it was refused. */
export async function redirectAfter(
  c: WebContext,
  path: string,
  done: string,
  act: () => Promise<unknown>,
): Promise<Response> {
  try {
    await act();
  } catch (error) {
    if (!isOperationError(error)) throw error;
    return redirectWith(c, path, { kind: 'failed', text: error.message });
  }
  return redirectWith(c, path, { kind: 'done', text: done });
}

/** The notice that waits to be shown, which is then gone. A page that only refreshes itself leaves it. */
export function takeNotice(c: WebContext): Notice | undefined {
  const value = c.req.header('berth-refresh') === undefined ? getCookie(c, COOKIE) : undefined;
  if (value === undefined) return undefined;
  deleteCookie(c, COOKIE, { path: '/' });
  const [, kind, text = ''] = /^(done|failed):(.*)$/s.exec(value) ?? [];
  return kind ? { kind: kind as Notice['kind'], text } : undefined;
}
