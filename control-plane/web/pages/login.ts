/** Login and logout. */
import { Hono } from 'hono';
import type { Actor } from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import { plainAddress } from '../../guard/address.ts';
import { dropOwnCookie } from '../../http/cookies.ts';
import { isHttps } from '../../http/own-origin.ts';
import { COOKIE, requestIdOf, sessionCookie, withOrigin } from '../../http/request.ts';
import { reviewAccess } from '../../operations/access-review.ts';
import { endSession } from '../../operations/accounts/sessions.ts';
import { formOf } from '../components/form.ts';
import { html } from '../components/html.ts';
import { redirectWith } from '../components/notice.ts';
import { page } from '../components/page.ts';
import { field } from '../components/pieces.ts';
import type { WebContext, WebDeps, WebEnv } from '../context.ts';
import { errorPage, statusOf } from '../error-page.ts';
import { safePath, sessionToken, withContext } from '../session.ts';
import { logInCommandLine } from './command-line.ts';
import { PROBED, setProbe, whyNoCookie } from './cookie-probe.ts';
import { logOutPage, signOnPages } from './sign-on.ts';

export interface Attempt {
  next: string;
  /** Whether the visitor had a session, which has ended. */
  ended?: boolean;
  username?: string;
  error?: OperationError;
}

export function loginPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  const { signOns } = deps;
  for (const path of ['/login/*', '/logout']) routes.use(path, withContext(deps));
  routes.onError((error, c) => errorPage(c, error, deps.failed));
  routes.get('/login', async (c) => {
    const next = safePath(c.req.query('next'));
    const actor = await actorOf(deps, c);
    return actor.kind === 'anonymous'
      ? loginPage(deps, c, { next, ended: c.req.query('ended') !== undefined })
      : c.redirect(next, 303);
  });
  routes.post('/login', (c) => logIn(deps, c));
  routes.post('/login/command-line', logInCommandLine(deps));
  routes.post('/logout', (c) => logOut(deps, c));
  if (signOns)
    routes.route(
      '/login/oidc',
      signOnPages(deps, signOns, (c, attempt) => loginPage(deps, c, attempt)),
    );
  return routes;
}

async function actorOf({ authentication }: WebDeps, c: WebContext): Promise<Actor> {
  const { actor } = await authentication.authenticate({
    sessionToken: sessionToken(c),
    addressOf: () => undefined,
  });
  return actor;
}

async function logIn(deps: WebDeps, c: WebContext): Promise<Response> {
  const { authentication, addressOf } = deps;
  const form = await formOf(c);
  const next = safePath(form.get('next'));
  const username = form.get('username') ?? '';
  const problem = form.has(PROBED) ? whyNoCookie(c) : undefined;
  if (problem !== undefined)
    return loginPage(deps, c, { next, username, error: new OperationError('invalid', problem) });
  const basic = { username, password: form.get('password') ?? '' };
  try {
    const origin = { addressOf: () => plainAddress(addressOf(c)), requestIdOf: () => requestIdOf(c) };
    const token = await authentication.logIn({ basic, ...origin });
    c.header('set-cookie', sessionCookie(token, isHttps(c)), { append: true });
    return c.redirect(next, 303);
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    return loginPage(deps, c, { next, username, error });
  }
}

async function logOut(deps: WebDeps, c: WebContext): Promise<Response> {
  const { signOns } = deps;
  const actor = await actorOf(deps, c);
  const token = sessionToken(c);
  if (token !== undefined) await endSession(deps, withOrigin(c, actor, deps.addressOf), token);
  // Closes the streams of this session. Streams of other sessions reconnect.
  if (actor.kind === 'user') await reviewAccess(deps, actor.user.id);
  dropOwnCookie(c, COOKIE);
  const atProvider = signOns && actor.kind === 'user' && (await logOutPage(deps, c, signOns, actor.user));
  if (atProvider) return atProvider;
  return redirectWith(c, '/login', { kind: 'done', text: 'You are logged out.' });
}

function loginPage(
  { signOn }: WebDeps,
  c: WebContext,
  { next, ended = false, username = '', error }: Attempt,
): Promise<Response> {
  setProbe(c);
  return page(c, {
    title: 'Log in',
    status: error ? statusOf(error) : 200,
    headers: error?.retryAfterS === undefined ? {} : { 'retry-after': String(error.retryAfterS) },
    body: html`
<form class="card narrow" method="post" action="/login">
<h1>Log in</h1>
${ended ? html`<p class="notice waits" role="status">Your session has ended. Log in to return to the page.</p>` : ''}
${error ? html`<p class="notice failed" role="alert">${error.message}</p>` : ''}
${signOn ? html`<p><a class="button primary wide" href="/login/oidc?next=${encodeURIComponent(next)}&amp;${PROBED}=set">Sign on with ${signOn.name}</a></p><p class="quiet">Or by a password of Berth:</p>` : ''}
<input type="hidden" name="next" value="${next}">
<input type="hidden" name="${PROBED}" value="set">
${field({ name: 'username', label: 'User name' }, (it) => html`<input ${it} value="${username}" autocomplete="username" autocapitalize="none" spellcheck="false" required${error ? '' : html` autofocus`}>`)}
${field({ name: 'password', label: 'Password' }, (it) => html`<input ${it} type="password" autocomplete="current-password" required${error ? html` autofocus` : ''}>`)}
<button class="primary wide">Log in</button>
</form>`,
  });
}
