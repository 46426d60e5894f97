/** The list of users with their running executions and filters. */
import { Hono } from 'hono';
import type { Quota, Role, User } from '../../../core/accounts/account.ts';
import { listQuotas } from '../../../operations/accounts/quotas.ts';
import { listRoles } from '../../../operations/accounts/roles.ts';
import { listUsers } from '../../../operations/accounts/users.ts';
import { listUsages } from '../../../operations/cluster/cluster.ts';
import { type Html, html } from '../../components/html.ts';
import { badge, empty, namesOf, options, share } from '../../components/pieces.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import { adminPage } from './admin-page.ts';
import { userEditPages } from './user.ts';

/** Users shown at a time; the filters find the others. */
const MAX_SHOWN = 200;

interface UserFilter {
  text: string;
  role: string;
  quota: string;
  state: string;
}

export function userPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/', async (c) => {
    const actor = c.get('actor');
    const all = async () => ({});
    const [users, roles, quotas, usages] = await Promise.all([
      listUsers(deps, actor, all),
      listRoles(deps, actor, all),
      listQuotas(deps, actor, all),
      listUsages(deps, actor),
    ]);
    const running = new Map(usages.map((one) => [one.userId, one.executions]));
    return listPage(c, filterOf(c), { users, roles, quotas, running });
  });
  routes.route('/', userEditPages(deps));
  return routes;
}

const filterOf = (c: WebContext): UserFilter => ({
  text: c.req.query('text') ?? '',
  role: c.req.query('role') ?? '',
  quota: c.req.query('quota') ?? '',
  state: c.req.query('state') ?? '',
});

interface Accounts {
  users: readonly User[];
  roles: readonly Role[];
  quotas: readonly Quota[];
  /** Executions that count under the quota, by user. */
  running: ReadonlyMap<number, number>;
}

function listPage(c: WebContext, filter: UserFilter, accounts: Accounts): Promise<Response> {
  const found = accounts.users.filter((user) => matches(user, filter));
  const shown = found.slice(0, MAX_SHOWN);
  const none = empty(
    'No matching users',
    html`<p><a href="/admin/users">Show all ${accounts.users.length} users</a></p>`,
  );
  return adminPage(c, {
    title: 'Users',
    body: html`
<div class="bar"><h1>Users</h1><a class="button primary" href="/admin/users/new">New user</a></div>
${filterForm(filter, accounts)}
${shown.length === 0 ? none : table(shown, accounts)}
${found.length > MAX_SHOWN ? html`<p class="hint">${found.length - MAX_SHOWN} more are not shown. Use the filters to find them.</p>` : ''}`,
  });
}

function matches({ username, email, roleId, quotaId, enabled }: User, filter: UserFilter): boolean {
  const text = filter.text.trim().toLowerCase();
  const isLike = [username, email].some((one) => one.toLowerCase().includes(text));
  const hasRole = filter.role === '' || filter.role === String(roleId);
  const hasQuota = filter.quota === '' || filter.quota === String(quotaId);
  const hasState = filter.state === '' || (filter.state === 'enabled') === enabled;
  return isLike && hasRole && hasQuota && hasState;
}

const STATES: [value: string, text: string][] = [
  ['', 'any'],
  ['enabled', 'enabled'],
  ['disabled', 'disabled'],
];

const filterForm = (filter: UserFilter, { roles, quotas }: Accounts): Html => html`
<form class="bar filters" method="get" action="/admin/users" role="search" data-sparse autocomplete="off">
<label>Name or e-mail <input name="text" type="search" value="${filter.text}" placeholder="any part"></label>
<label>Role <select name="role">${options([['', 'any'], ...namesOf(roles)], filter.role)}</select></label>
<label>Quota <select name="quota">${options([['', 'any'], ...namesOf(quotas)], filter.quota)}</select></label>
<label>State <select name="state">${options(STATES, filter.state)}</select></label>
<button>Filter</button>
${Object.values(filter).some((one) => one !== '') ? html`<a class="button quiet" href="/admin/users">Clear</a>` : ''}
</form>`;

function table(users: readonly User[], { roles, quotas, running }: Accounts): Html {
  const roleOf = new Map(roles.map((role) => [role.id, role]));
  const quotaOf = new Map(quotas.map((quota) => [quota.id, quota]));
  return html`
<div class="scroll"><table>
<thead><tr><th scope="col">User</th><th scope="col">State</th><th scope="col">E-mail</th><th scope="col">Role</th><th scope="col">Quota</th><th scope="col">Running</th><th scope="col" class="number">Priority</th></tr></thead>
<tbody>${users.map((user) => {
    const quota = quotaOf.get(user.quotaId);
    return html`
<tr><th scope="row"><a href="/admin/users/${user.id}">${user.username}</a></th>
<td>${badge(user.enabled ? 'enabled' : 'disabled')}</td><td class="words">${user.email}</td>
<td class="words">${roleOf.get(user.roleId)?.name}</td><td class="words">${quota?.name}</td>
<td>${share(running.get(user.id) ?? 0, quota?.concurrentExecutions ?? 0)}</td>
<td class="number">${user.priority}</td></tr>`;
  })}</tbody>
</table></div>`;
}
