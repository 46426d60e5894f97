/** Sign-on by a provider: leaves for it, comes back with a session, and logs out there too. */
import { Hono } from 'hono';
import type { User } from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import { plainAddress } from '../../guard/address.ts';
import {
  dropOwnCookie,
  readOwnCookie,
  readOwnCookies,
  readProofCookie,
  setOwnCookie,
} from '../../http/cookies.ts';
import { isOwnVisit } from '../../http/cross-site.ts';
import { contentPolicy } from '../../http/files.ts';
import { isHttps, ownOrigin } from '../../http/own-origin.ts';
import { originOf, sessionCookie } from '../../http/request.ts';
import type { EndSession } from '../../operations/sign-on/provider.ts';
import { PENDING_MS, type SignOn } from '../../operations/sign-on/sign-on.ts';
import { type Html, html } from '../components/html.ts';
import { page } from '../components/page.ts';
import type { WebContext, WebDeps, WebEnv } from '../context.ts';
import { safePath } from '../session.ts';
import { PROBED, setProbe, whyNoCookie } from './cookie-probe.ts';

const PATH = '/login/oidc';
const CALLBACK = `${PATH}/callback`;
/**
 * What a begun sign-on needs to be completed, sealed, with the beginning of its state: each tab has its own.
 * Over http sent to the pages of sign-on only.
 */
const COOKIE = 'berth_sign_on_';
/**
 * Others than the latest sign-ons of a browser are given up, since servers refuse requests with long headers.
 */
const MAX_BEGUN = 5;
const MAX_BEGUN_LENGTH = 6_000;
/** What a logout at the provider needs, sealed. Over http sent to the logout only. */
const HINT = 'berth_logout';

type LoginPage = (c: WebContext, attempt: { next: string; error: OperationError }) => Promise<Response>;

export function signOnPages(deps: WebDeps, signOn: SignOn, loginPage: LoginPage): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/', async (c) => {
    const next = safePath(c.req.query('next'));
    // Another site must not log anybody in: it can only show the page with the link.
    if (!isOwnVisit(c)) return c.redirect(`/login?next=${encodeURIComponent(next)}`, 303);
    return orLoginPage(deps, c, loginPage, next, async () => {
      const problem = c.req.query(PROBED) === undefined ? undefined : whyNoCookie(c);
      if (problem !== undefined) throw new OperationError('invalid', problem);
      return leave(deps, c, signOn, next);
    });
  });
  routes.get('/callback', (c) =>
    orLoginPage(deps, c, loginPage, safePath(undefined), () => comeBack(deps, c, signOn)),
  );
  return routes;
}

async function leave({ addressOf }: WebDeps, c: WebContext, signOn: SignOn, next: string): Promise<Response> {
  const { url, state, begun } = await signOn.begin(
    next,
    `${ownOrigin(c)}${CALLBACK}`,
    plainAddress(addressOf(c)),
  );
  let [count, length] = [1, begun.length];
  for (const [name, value] of readOwnCookies(c, COOKIE).toReversed()) {
    [count, length] = [count + 1, length + value.length];
    if (count > MAX_BEGUN || length > MAX_BEGUN_LENGTH) dropOwnCookie(c, name, PATH);
  }
  setProbe(c);
  setOwnCookie(c, cookieFor(state), begun, { path: PATH, maxAgeS: PENDING_MS / 1_000 });
  return c.redirect(url, 303);
}

async function comeBack(
  { addressOf, authentication }: WebDeps,
  c: WebContext,
  signOn: SignOn,
): Promise<Response> {
  const query = new URL(c.req.url).searchParams;
  const cookie = cookieFor(query.get('state') ?? '');
  const sealed = readProofCookie(c, cookie);
  const problem = sealed === undefined ? whyNoCookie(c) : undefined;
  if (problem !== undefined) throw new OperationError('unauthenticated', problem);
  const begun = await signOn.begunBy(query, sealed);
  // Used once, whatever comes of it.
  dropOwnCookie(c, cookie, PATH);
  const { session, next, hint } = await signOn.complete(query, begun, originOf(c, addressOf));
  authentication.counts.count('oidc');
  c.header('set-cookie', sessionCookie(session, isHttps(c)), { append: true });
  const maxAgeS = Math.floor(signOn.settings.sessionMs / 1_000);
  if (hint !== undefined) setOwnCookie(c, HINT, hint, { path: '/logout', maxAgeS });
  return c.redirect(safePath(next), 303);
}

/** Any text may stand for a state in a link. */
const cookieFor = (state: string): string => COOKIE + state.replace(/[^\w-]/g, '').slice(0, 16);

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
  const hint = readOwnCookie(c, HINT);
  if (hint !== undefined) dropOwnCookie(c, HINT, '/logout');
  try {
    const end = await signOn.endSession(user, `${ownOrigin(c)}/login`, hint, plainAddress(addressOf(c)));
    if (end === undefined) return undefined;
    return await ('id_token_hint' in end.fields ? formPage : linkPage)(c, signOn.settings.name, end);
  } catch (error) {
    // The logout here is done, whatever the provider does.
    failed(c.req.path, error);
    return undefined;
  }
}

/** Goes on by itself, and has a link. */
function linkPage(c: WebContext, name: string, { endpoint, fields }: EndSession): Promise<Response> {
  const url = new URL(endpoint);
  for (const [field, value] of Object.entries(fields)) url.searchParams.set(field, value);
  const link = html`<p><a class="button primary" href="${url.href}">Log out of ${name}</a></p>`;
  const says = `The browser goes on to the logout of ${name}.`;
  return loggedOutPage(c, says, link, { refresh: `0; url=${url.href}` });
}

/** The ID token states who the user is, so that it goes into a body and never into an address (H647). */
function formPage(c: WebContext, name: string, { endpoint, fields }: EndSession): Promise<Response> {
  const hidden = Object.entries(fields).map(
    ([field, value]) => html`<input type="hidden" name="${field}" value="${value}">`,
  );
  const form = html`<form method="post" action="${endpoint}">${hidden}<button class="primary">Log out of ${name}</button></form>`;
  // Browsers apply the policy to the pages to which the provider redirects, too.
  const policy = contentPolicy(`'self' https: ${new URL(endpoint).origin}`);
  const says = `Your session at ${name} continues until you log out there, too.`;
  return loggedOutPage(c, says, form, { 'content-security-policy': policy });
}

const loggedOutPage = (
  c: WebContext,
  says: string,
  goOn: Html,
  headers: Record<string, string>,
): Promise<Response> =>
  page(c, {
    title: 'Logged out',
    headers,
    body: html`
<div class="empty">
<h1>You are logged out of Berth</h1>
<p>${says}</p>
${goOn}
</div>`,
  });
