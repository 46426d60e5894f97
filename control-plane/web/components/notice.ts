/**
 * Notices: one sentence that reports the result of an action on the next page. A cookie carries the notice,
 * and it is shown once.
 */
import { OperationError } from '../../core/model/errors.ts';
import { shortened } from '../../core/model/text.ts';
import { dropOwnCookie, readOwnCookie, setOwnCookie } from '../../http/cookies.ts';
import type { WebContext } from '../context.ts';

const COOKIE = 'berth_notice';
const MAX_NOTICE_LENGTH = 500;

export interface Notice {
  kind: 'done' | 'failed';
  text: string;
}

/** Redirects to `path`, which shows the notice. */
export function redirectWith(c: WebContext, path: string, { kind, text }: Notice): Response {
  setOwnCookie(c, COOKIE, `${kind}:${shortened(text, MAX_NOTICE_LENGTH)}`, { maxAgeS: 60 });
  return c.redirect(path, 303);
}

/** True for refusals that a form or a notice can report. All other errors get a page of their own. */
export const isOperationError = (error: unknown): error is OperationError =>
  error instanceof OperationError && ['conflict', 'invalid', 'too-many'].includes(error.code);

/** Runs `act`, then redirects to `path` with the notice `done` or with the reason for the refusal. */
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

/** Returns the pending notice and deletes it. A live refresh of a page leaves the notice alone. */
export function takeNotice(c: WebContext): Notice | undefined {
  const value = c.req.header('berth-refresh') === undefined ? readOwnCookie(c, COOKIE) : undefined;
  if (value === undefined) return undefined;
  dropOwnCookie(c, COOKIE);
  const [, kind, text = ''] = /^(done|failed):(.*)$/s.exec(value) ?? [];
  return kind ? { kind: kind as Notice['kind'], text } : undefined;
}
