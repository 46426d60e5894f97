/** The forms of a user. */
import {
  INTERNAL_SOURCE,
  LDAP_SOURCE,
  type Quota,
  type Role,
  type User,
} from '../../../core/accounts/account.ts';
import { OIDC_SOURCE } from '../../../core/accounts/sign-on.ts';
import { DIRECTORYS_PASSWORD, PROVIDERS_PASSWORD } from '../../../operations/accounts/users.ts';
import type { Problems } from '../../components/form.ts';
import type { Entry } from '../../components/form-entry.ts';
import { type Html, html } from '../../components/html.ts';
import { alert, badge, checkbox, field, namesOf, options } from '../../components/pieces.ts';
import type { WebContext } from '../../context.ts';
import { adminPage } from './admin-page.ts';
import { type LinkedUser, signOnPart } from './user-sign-on.ts';

export interface Choices {
  roles: readonly Role[];
  quotas: readonly Quota[];
  /** The provider by which users sign on, for people. */
  provider: string | undefined;
}

export function newUserPage(c: WebContext, choices: Choices, entry: Entry): Promise<Response> {
  // The seeded role of ordinary users, if it still exists.
  const role = String(choices.roles.find(({ name }) => name === 'user')?.id ?? '');
  const values = { ...entry.values, role: entry.values.role || role };
  return adminPage(c, {
    title: 'New user',
    status: entry.status ?? 200,
    body: html`
<form class="card" method="post" action="/admin/users">
<h1>New user</h1>
${alert(entry.refused)}
${userFields(choices, { ...entry, values }, passwordField(c, 'Password', entry.problems, false))}
<div class="bar"><button class="primary">Create user</button><a class="button" href="/admin/users">Cancel</a></div>
</form>`,
  });
}

export const userPage = (
  c: WebContext,
  choices: Choices,
  user: LinkedUser,
  entry: Entry,
): Promise<Response> =>
  adminPage(c, {
    title: user.username,
    status: entry.status ?? 200,
    body: html`
<h1>${user.username} ${badge(user.enabled ? 'enabled' : 'disabled')}</h1>
<form class="card" method="post" action="/admin/users/${user.id}">
${alert(entry.refused)}
${userFields(choices, entry)}
<div class="bar"><button class="primary">Save</button><a class="button" href="/admin/users">Cancel</a></div>
</form>
<h2>Logins</h2>
<p>${user.username} logs in by ${wayText(user)}. The audit log has <a href="/admin/audit?${new URLSearchParams({ user: user.username, action: 'log-in' })}">all logins of ${user.username}</a>, each with its way and address. Personal access tokens work beside it.</p>
<h2>Password</h2>
${passwordPart(c, user, entry)}
${signOnPart(user, choices.provider, entry)}
<h2>Delete</h2>
<p>A disabled user can't log in. Deleting a user also deletes all executions of the user. <a class="button danger" href="/admin/users/${user.id}/delete">Delete user</a></p>`,
  });

/** How a user comes in, besides by personal access tokens. */
export function wayText({ authSource }: Pick<User, 'authSource'>): string {
  if (authSource === INTERNAL_SOURCE) return 'a password that Berth stores';
  if (authSource === LDAP_SOURCE) return 'the password of the directory (LDAP)';
  if (authSource === OIDC_SOURCE) return 'sign-on (OpenID Connect)';
  return `the account source "${authSource}"`;
}

function passwordPart(c: WebContext, user: User, entry: Entry): Html {
  if (user.authSource === LDAP_SOURCE) return html`<p>${DIRECTORYS_PASSWORD}</p>`;
  if (user.authSource === OIDC_SOURCE) return html`<p>${PROVIDERS_PASSWORD}</p>`;
  if (user.id === c.get('account').user.id)
    return html`<p>Change your own password in <a href="/account">your account</a>.</p>`;
  return passwordForm(c, user, entry);
}

const passwordForm = (c: WebContext, { id, username }: User, { problems }: Entry): Html => html`
<form class="card half" method="post" action="/admin/users/${id}/password">
<input hidden name="username" value="${username}" autocomplete="username">
<p>This ends all sessions of ${username}. The password can't be displayed later.</p>
${passwordField(c, 'New password', problems)}
<button>Set password</button>
</form>`;

/** What a new password must be. */
export const newPasswordHint = (c: WebContext): string =>
  `At least ${c.get('minPasswordLength')} characters, and not the user name.`;

const passwordField = (
  c: WebContext,
  label: string,
  problems: Problems | undefined,
  isRequired = true,
): Html =>
  field(
    { name: 'password', label, hint: newPasswordHint(c), problems },
    (it) =>
      html`<input ${it} type="password" autocomplete="new-password"${isRequired ? html` required` : ''}>`,
  );

/** `secret` is the password field of a new user. */
function userFields({ roles, quotas }: Choices, { values, problems }: Entry, secret: Html | '' = ''): Html {
  const text = (name: string, label: string, more: Html, hint?: string) =>
    field({ name, label, hint, problems }, (it) => html`<input ${it} value="${values[name] ?? ''}" ${more}>`);
  return html`
<div class="columns">
${text('username', 'User name', html`autocomplete="off" autocapitalize="none" spellcheck="false" required`)}
${text('email', 'E-mail', html`autocomplete="off"`)}
${secret}
${field({ name: 'role', label: 'Role', problems }, (it) => html`<select ${it}>${options(namesOf(roles), values.role ?? '')}</select>`)}
${field({ name: 'quota', label: 'Quota', problems }, (it) => html`<select ${it}>${options(namesOf(quotas), values.quota ?? '')}</select>`)}
${text('priority', 'Priority', html`type="number" step="1" required`, 'Executions of users with a higher priority start first.')}
</div>
${checkbox('enabled', 'Can log in', values.enabled !== undefined)}
<details${problems?.source || problems?.uid ? html` open` : ''}>
<summary>More settings</summary>
<div class="columns">
${text('source', 'Account source', html`autocomplete="off" required`, 'internal: Berth stores the password. ldap: the directory verifies it. oidc: the user signs on. For both, leave the password empty.')}
${text('uid', 'File system user ID', html`type="number" min="1" step="1"`, 'Leave empty to use the next free ID.')}
</div>
</details>`;
}
