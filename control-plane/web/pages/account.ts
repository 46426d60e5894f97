/** The page of a user's own account: role, quota, password and e-mail address. */
import { Hono } from 'hono';
import * as z from 'zod';
import { LDAP_SOURCE, type User } from '../../core/accounts/account.ts';
import { MICRO } from '../../core/accounts/quota.ts';
import { OIDC_SOURCE } from '../../core/accounts/sign-on.ts';
import { memoryText } from '../../core/model/text.ts';
import { email } from '../../http/json/account-fields.ts';
import { isHttps } from '../../http/own-origin.ts';
import { sessionCookie } from '../../http/request.ts';
import { changeOwnPassword } from '../../operations/accounts/own-password.ts';
import { getAllowance } from '../../operations/accounts/quotas.ts';
import { DIRECTORYS_PASSWORD, updateUser } from '../../operations/accounts/users.ts';
import { type Entry, handleForm } from '../components/form-entry.ts';
import { type Html, html } from '../components/html.ts';
import { redirectWith } from '../components/notice.ts';
import { page } from '../components/page.ts';
import { alert, coresNumber, facts, field, share } from '../components/pieces.ts';
import type { WebContext, WebDeps, WebEnv } from '../context.ts';
import { allowedText } from './admin/roles.ts';
import { password } from './admin/user.ts';
import { newPasswordHint, wayText } from './admin/user-form.ts';
import { commandLinePages } from './command-line.ts';
import { personalTokenPages } from './personal-tokens.ts';
import { secretPages } from './secrets.ts';

const passwordFields = z
  .object({ present: z.string().min(1, 'is required'), password, repeated: z.string() })
  .refine((fields) => fields.password === fields.repeated, {
    path: ['repeated'],
    message: 'does not match the new password',
  });

const emailFields = z.object({ email });

/** The state of each of the two forms. */
interface Entries {
  password?: Partial<Entry>;
  email?: Partial<Entry>;
}

export function accountPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/', (c) => accountPage(deps, c, {}));
  routes.post('/password', (c) =>
    handleForm(
      c,
      passwordFields,
      (password) => accountPage(deps, c, { password }),
      (value) => changePassword(deps, c, value),
    ),
  );
  routes.post('/email', (c) =>
    handleForm(
      c,
      emailFields,
      (email) => accountPage(deps, c, { email }),
      async (value) => {
        await updateUser(deps, c.get('actor'), c.get('account').user.id, async () => value);
        return redirectWith(c, '/account', { kind: 'done', text: 'Your e-mail address has been changed.' });
      },
    ),
  );
  routes.route('/tokens', personalTokenPages(deps));
  routes.route('/command-line', commandLinePages(deps));
  routes.route('/secrets', secretPages(deps));
  return routes;
}

/** Continues with a session of the new password: the change has ended all others. */
async function changePassword(
  deps: WebDeps,
  c: WebContext,
  value: { present: string; password: string },
): Promise<Response> {
  const { authentication, addressOf } = deps;
  const token = await changeOwnPassword(
    deps,
    authentication,
    c.get('actor'),
    async () => value,
    () => addressOf(c),
  );
  c.header('set-cookie', sessionCookie(token, isHttps(c)), { append: true });
  const text = 'Your password has been changed. All your other sessions were ended.';
  return redirectWith(c, '/account', { kind: 'done', text });
}

async function accountPage(deps: WebDeps, c: WebContext, entries: Entries): Promise<Response> {
  const { user, role } = c.get('account');
  const { quota, used } = await getAllowance(deps, c.get('actor'));
  return page(c, {
    title: 'Your account',
    status: entries.password?.status ?? entries.email?.status ?? 200,
    body: html`
<h1>Your account</h1>
<div class="card">${facts([
      ['User name', user.username],
      ['Logs in by', wayText(user)],
      ['Role', html`${role.name} <span class="quiet">(${allowedText(role)})</span>`],
      ['Quota', quota.name],
      ['Executions', withLimit(used.executions, quota.concurrentExecutions)],
      ['Memory', withLimit(used.memoryBytes, quota.memoryBytes, memoryText)],
      ['Cores', withLimit(used.microCores / MICRO, quota.cores, coresNumber)],
    ])}</div>
<div class="columns">
<section><h2>Password</h2>${passwordPart(deps, c, user, entries)}</section>
<section><h2>E-mail</h2>${emailForm(user.email, entries.email ?? {})}
<h2>Programs</h2><p><a href="/account/tokens">Personal access tokens</a> let programs act for you without your password.</p>
<h2>Secrets</h2><p><a href="/account/secrets">Secrets, files and registries</a>: values that your services get, and credentials for their images. Nobody can read them.</p></section>
</div>`,
  });
}

const withLimit = (used: number, limit: number, text?: (amount: number) => string): Html =>
  html`${share(used, limit, text)}${limit === 0 ? ', no limit' : ''}`;

function passwordPart(deps: WebDeps, c: WebContext, user: User, entries: Entries): Html {
  if (user.authSource === LDAP_SOURCE) return html`<p class="card">${DIRECTORYS_PASSWORD}</p>`;
  if (user.authSource === OIDC_SOURCE)
    return html`<p>You sign on by ${deps.signOn?.name ?? 'a provider'}, and have no password here.</p>`;
  return passwordForm(c, user.username, entries.password ?? {});
}

function passwordForm(c: WebContext, username: string, { problems, refused }: Partial<Entry>): Html {
  const secret = (name: string, label: string, autocomplete: string, hint?: string) =>
    field(
      { name, label, hint, problems },
      (it) => html`<input ${it} type="password" autocomplete="${autocomplete}" required>`,
    );
  return html`
<form class="card" method="post" action="/account/password">
${alert(refused)}
<input hidden name="username" value="${username}" autocomplete="username">
${secret('present', 'Current password', 'current-password')}
${secret('password', 'New password', 'new-password', newPasswordHint(c))}
${secret('repeated', 'Confirm new password', 'new-password')}
<p class="hint">This ends all your other sessions. Your personal access tokens stay valid.</p>
<button class="primary">Change password</button>
</form>`;
}

const emailForm = (present: string, { problems, values, refused }: Partial<Entry>): Html => html`
<form class="card" method="post" action="/account/email">
${alert(refused)}
${field({ name: 'email', label: 'E-mail address', problems }, (it) => html`<input ${it} value="${values?.email ?? present}" autocomplete="email" inputmode="email">`)}
<button>Save</button>
</form>`;
