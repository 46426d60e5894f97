/** Owns who a page is shown to: the session cookie alone. Whoever has none is sent to log in, and comes back. */
import type { MiddlewareHandler } from 'hono';
import { getCookie } from 'hono/cookie';
import { authorise } from '../core/accounts/account.ts';
import { COOKIE, checkOrigin } from '../http/request.ts';
import { lastEventId } from '../operations/cluster/events.ts';
import { redirectWith } from './components/notice.ts';
import type { WebContext, WebDeps, WebEnv } from './context.ts';

/** What the frame of a page is made from. Whatever changes something must come from our own pages (CSRF). */
export const withContext =
  ({ deploymentName, nowMs }: WebDeps): MiddlewareHandler<WebEnv> =>
  async (c, next) => {
    c.set('deploymentName', deploymentName);
    c.set('nowMs', nowMs());
    checkOrigin(c);
    await next();
  };

/** Lets those in that are logged in; others go to /login, and from there to where they wanted to. */
export const signedIn =
  (deps: WebDeps): MiddlewareHandler<WebEnv> =>
  async (c, next) => {
    const { actor } = await deps.authentication.authenticate({
      sessionTokens: sessionTokens(c),
      addressOf: () => undefined,
    });
    if (actor.kind === 'anonymous') {
      // A stream can't show the login page.
      if (c.req.header('accept') === 'text/event-stream') authorise(actor, { kind: 'login' });
      return isReading(c)
        ? c.redirect(loginPath(c), 303)
        : redirectWith(c, loginPath(c), { kind: 'failed', text: NOT_DONE });
    }
    c.set('actor', actor);
    c.set('account', actor);
    authorise(actor, { kind: 'login' });
    // Before the page is read, so that nothing that comes after that is missed.
    if (isVisit(c)) c.set('lastEventId', await lastEventId(deps, actor));
    return next();
  };

const NOT_DONE = 'Your session has ended, so nothing was changed. Log in and send the form again.';

const isReading = (c: WebContext): boolean => ['GET', 'HEAD'].includes(c.req.method);

/** Whether a page is opened, and not one that refreshes itself. */
const isVisit = (c: WebContext): boolean =>
  c.req.method === 'GET' &&
  c.req.header('berth-refresh') === undefined &&
  (c.req.header('accept') ?? '').includes('text/html');

export function sessionTokens(c: WebContext): string[] {
  const token = getCookie(c, COOKIE);
  return token === undefined ? [] : [token];
}

function loginPath(c: WebContext): string {
  const { pathname, search } = new URL(c.req.url);
  // What was sent can't be sent again for them; the page that it came from can be shown.
  const wanted = isReading(c) ? pathname + search : (refererPath(c) ?? '/');
  return wanted === '/executions' ? '/login' : `/login?next=${encodeURIComponent(wanted)}`;
}

/** Path of the page of ours that the request comes from. */
export function refererPath(c: WebContext): string | undefined {
  const referer = URL.parse(c.req.header('referer') ?? '');
  return referer?.host === new URL(c.req.url).host ? referer.pathname + referer.search : undefined;
}

/** `next` where it is a path of ours, else the first page: nobody is sent to another site. */
export function safePath(next: string | null | undefined): string {
  const origin = 'http://here';
  const url = next?.startsWith('/') ? URL.parse(next, origin) : null;
  // Dots are gone now, and what was behind them may begin with two slashes, which is another site's name.
  const isOurs = url?.origin === origin && !url.pathname.startsWith('//');
  return isOurs ? url.pathname + url.search : '/executions';
}
