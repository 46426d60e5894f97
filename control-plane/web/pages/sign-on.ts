/** Sign-on by a provider: leaves for it, comes back with a session, and logs out there too. */
import { Hono } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { User } from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import { plainAddress } from '../../http/address.ts';
import { isOwnVisit } from '../../http/cross-site.ts';
import { isHttps, originOf, sessionCookie } from '../../http/request.ts';
import { PENDING_MS, type SignOn } from '../../operations/sign-on/sign-on.ts';
import { html } from '../components/html.ts';
import { page } from '../components/page.ts';
import type { WebContext, WebDeps, WebEnv } from '../context.ts';
import { safePath } from '../session.ts';

const PATH = '/login/oidc';
const CALLBACK = `${PATH}/callback`;
/** What a begun sign-on needs to be completed, sealed. Sent to the callback only. */
const COOKIE = 'berth_sign_on';

type LoginPage = (c: WebContext, attempt: { next: string; error: OperationError }) => Promise<Response>;

export function signOnPages(deps: WebDeps, signOn: SignOn, loginPage: LoginPage): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/', async (c) => {
    const next = safePath(c.req.query('next'));
    // Another site must not log anybody in: it can only show the page with the link.
    if (!isOwnVisit(c)) return c.redirect(`/login?next=${encodeURIComponent(next)}`, 303);
    return orLoginPage(deps, c, loginPage, next, () => leave(deps, c, signOn, next));
  });
  routes.get('/callback', (c) =>
    orLoginPage(deps, c, loginPage, safePath(undefined), () => comeBack(deps, c, signOn)),
  );
  return routes;
}

async function leave({ addressOf }: WebDeps, c: WebContext, signOn: SignOn, next: string): Promise<Response> {
  const { url, begun } = await signOn.begin(next, `${siteOf(c)}${CALLBACK}`, plainAddress(addressOf(c)));
  setCookie(c, COOKIE, begun, {
    httpOnly: true,
    sameSite: 'Lax',
    path: CALLBACK,
    maxAge: PENDING_MS / 1_000,
    secure: isHttps(c),
  });
  return c.redirect(url, 303);
}

async function comeBack(
  { addressOf, authentication }: WebDeps,
  c: WebContext,
  signOn: SignOn,
): Promise<Response> {
  const begun = getCookie(c, COOKIE);
  // Used once, whatever comes of it.
  deleteCookie(c, COOKIE, { path: CALLBACK });
  const query = new URL(c.req.url).searchParams;
  const { session, next } = await signOn.complete(query, begun, originOf(c, addressOf));
  authentication.counts.count('oidc');
  c.header('set-cookie', sessionCookie(session, isHttps(c)), { append: true });
  return c.redirect(safePath(next), 303);
}

/** Shows the login page with the reason if the sign-on fails. */
async function orLoginPage(
  { failed }: WebDeps,
  c: WebContext,
  loginPage: LoginPage,
  next: string,
  act: () => Promise<Response>,
): Promise<Response> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    if (error.cause) failed(c.req.path, error.cause);
    return loginPage(c, { next, error });
  }
}

/**
 * After a logout here, the page that goes on to the logout at the provider. A redirect can't: the policy of
 * pages lets no form lead to another site. Undefined for users who have not signed on.
 */
export async function logOutPage(
  { addressOf, failed }: WebDeps,
  c: WebContext,
  signOn: SignOn,
  user: User,
): Promise<Response | undefined> {
  const { name } = signOn.settings;
  try {
    const url = await signOn.endSessionUrl(user, `${siteOf(c)}/login`, plainAddress(addressOf(c)));
    if (url === undefined) return undefined;
    return await page(c, {
      title: 'Logged out',
      headers: { refresh: `0; url=${url}` },
      body: html`
<div class="empty">
<h1>You are logged out of Berth</h1>
<p>Your session at ${name} goes on until you log out there.</p>
<p><a class="button primary" href="${url}">Log out of ${name}</a></p>
</div>`,
    });
  } catch (error) {
    // The logout here is done, whatever the provider does.
    failed(c.req.path, error);
    return undefined;
  }
}

const siteOf = (c: WebContext): string => `${isHttps(c) ? 'https' : 'http'}://${new URL(c.req.url).host}`;
