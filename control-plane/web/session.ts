/**
 * Sessions of pages: pages accept the session cookie only. Anonymous users are redirected to the login and
 * return afterwards.
 */
import type { MiddlewareHandler } from 'hono';
import { type Actor, authorise } from '../core/accounts/account.ts';
import { answerAhead } from '../http/answer-ahead.ts';
import { readProofCookie } from '../http/cookies.ts';
import { isOwnHost } from '../http/own-origin.ts';
import { COOKIE, withOrigin } from '../http/request.ts';
import { lastEventId } from '../operations/cluster/events.ts';
import { redirectWith } from './components/notice.ts';
import type { WebContext, WebDeps, WebEnv } from './context.ts';

/** Sets the context of the page frame. */
export const withContext =
  ({ deploymentName, nowMs, bodies, minPasswordLength }: WebDeps): MiddlewareHandler<WebEnv> =>
  async (c, next) => {
    c.set('deploymentName', deploymentName);
    c.set('nowMs', nowMs());
    c.set('bodies', bodies);
    c.set('minPasswordLength', minPasswordLength);
    await next();
  };

/** Admits logged-in users; redirects others to /login, which leads back. */
export const signedIn =
  (deps: WebDeps): MiddlewareHandler<WebEnv> =>
  async (c, next) => {
    const claim = await deps.authentication.claim({
      sessionToken: sessionToken(c),
      addressOf: () => undefined,
    });
    return answerAhead(c, claim, ({ actor }) => admit(deps, c, actor, next), deps.anew);
  };

async function admit(
  deps: WebDeps,
  c: WebContext,
  actor: Actor,
  next: () => Promise<void>,
): Promise<Response | undefined> {
  if (actor.kind === 'anonymous') {
    // An event stream can't show the login page.
    if (c.req.header('accept') === 'text/event-stream') authorise(actor, { kind: 'login' });
    return isReading(c)
      ? c.redirect(loginPath(c), 303)
      : redirectWith(c, loginPath(c), { kind: 'failed', text: NOT_DONE });
  }
  c.set('actor', withOrigin(c, actor, deps.addressOf));
  c.set('account', actor);
  authorise(actor, { kind: 'login' });
  // Before the page is rendered, so that no later event is missed.
  if (isVisit(c)) c.set('lastEventId', await lastEventId(deps, actor));
  await next();
  return undefined;
}

const NOT_DONE = 'Your session has ended, so nothing was changed. Log in and send the form again.';

const isReading = (c: WebContext): boolean => ['GET', 'HEAD'].includes(c.req.method);

/** True if a person opens the page, false for a live refresh. */
const isVisit = (c: WebContext): boolean =>
  c.req.method === 'GET' &&
  c.req.header('berth-refresh') === undefined &&
  (c.req.header('accept') ?? '').includes('text/html');

export const sessionToken = (c: WebContext): string | undefined => readProofCookie(c, COOKIE);

function loginPath(c: WebContext): string {
  const { pathname, search } = new URL(c.req.url);
  // A form can't be sent again after the login, but its page can be shown.
  const wanted = isReading(c) ? pathname + search : (refererPath(c) ?? '/');
  const query = [
    ...(wanted === '/executions' ? [] : [`next=${encodeURIComponent(wanted)}`]),
    ...(isReading(c) && hadSession(c) ? ['ended'] : []),
  ];
  return query.length === 0 ? '/login' : `/login?${query.join('&')}`;
}

/** Whether there was a session. Browsers drop its cookie when it expires, but an open page goes on. */
const hadSession = (c: WebContext): boolean =>
  sessionToken(c) !== undefined || c.req.header('berth-refresh') !== undefined;

/** Path of the page that sent the request, if it is ours. */
export function refererPath(c: WebContext): string | undefined {
  const referer = URL.parse(c.req.header('referer') ?? '');
  return isOwnHost(c, referer) ? referer.pathname + referer.search : undefined;
}

/** `next` if it is a path of this site, else the first page: a login must never lead to another site. */
export function safePath(next: string | null | undefined): string {
  const origin = 'http://here';
  const url = next?.startsWith('/') ? URL.parse(next, origin) : null;
  // Resolving dots may leave a path that begins with two slashes, which names another site.
  const isOurs = url?.origin === origin && !url.pathname.startsWith('//');
  return isOurs ? url.pathname + url.search : '/executions';
}
