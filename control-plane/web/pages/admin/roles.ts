/** The pages of roles: what each allows and who has it. */
import { Hono } from 'hono';
import * as z from 'zod';
import { ADMIN_ROLE, type Role, type User } from '../../../core/accounts/account.ts';
import type { NewRole } from '../../../core/accounts/account-input.ts';
import type { RoleFlag } from '../../../core/accounts/role-flags.ts';
import { name } from '../../../http/json/account-fields.ts';
import { pathId } from '../../../http/request.ts';
import {
  createRole,
  deleteRole,
  getRole,
  listRoles,
  updateRole,
} from '../../../operations/accounts/roles.ts';
import { listUsers } from '../../../operations/accounts/users.ts';
import { type Entry, handleForm } from '../../components/form-entry.ts';
import { type Html, html } from '../../components/html.ts';
import { redirectAfter, redirectWith } from '../../components/notice.ts';
import { alert, checkbox, field } from '../../components/pieces.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import { adminPage } from './admin-page.ts';

/** The label and the explanation of each flag. */
export const FLAGS: readonly (readonly [flag: RoleFlag, label: string, hint: string])[] = [
  [
    'canAccessApi',
    'Use the API',
    'Required for the API and for these pages. Without it no other permission has an effect.',
  ],
  [
    'canDeleteExecutions',
    'Delete executions',
    'Delete executions with their logs. Terminating them needs no permission.',
  ],
  [
    'canOperateOthers',
    "Operate others' executions",
    'See and terminate the executions of all users, and read their logs.',
  ],
  [
    'canExec',
    'Run commands in services',
    'Run commands, and reach ports, in services that the role may operate.',
  ],
  ['canSeeStatus', 'See the cluster', 'View hosts, queue and charts.'],
  ['canChangeConfig', 'Change the configuration', 'Manage users, roles, quotas and hosts.'],
  ['canAccessFullAppShop', 'See the whole app shop', 'Includes applications that are disabled for the role.'],
  ['canCustomizeResources', 'Choose resources', 'Set memory and cores of applications from the app shop.'],
];

const checked = z
  .string()
  .optional()
  .transform((value) => value !== undefined);

const roleFields: z.ZodType<NewRole> = z.object({
  name,
  ...(Object.fromEntries(FLAGS.map(([flag]) => [flag, checked])) as Record<RoleFlag, typeof checked>),
});

export function rolePages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/', async (c) => {
    const [roles, users] = await Promise.all([
      listRoles(deps, c.get('actor'), async () => ({})),
      listUsers(deps, c.get('actor'), async () => ({})),
    ]);
    return listPage(c, roles, users);
  });
  routes.get('/new', (c) => rolePage(c, null, 0, { values: { canAccessApi: 'on', canExec: 'on' } }));
  routes.post('/', (c) => addRole(deps, c));
  routes.get('/:id', async (c) => {
    const role = await roleIn(deps, c);
    return rolePage(c, role, await countOf(deps, c, role), { values: valuesOf(role) });
  });
  routes.post('/:id', (c) => changeRole(deps, c));
  routes.post('/:id/delete', async (c) => {
    const role = await roleIn(deps, c);
    return redirectAfter(c, '/admin/roles', `Role ${role.name} was deleted.`, () =>
      deleteRole(deps, c.get('actor'), role.id),
    );
  });
  return routes;
}

const addRole = (deps: WebDeps, c: WebContext): Promise<Response> =>
  handleForm(
    c,
    roleFields,
    (entry) => rolePage(c, null, 0, entry),
    async (value) => {
      await createRole(deps, c.get('actor'), async () => value);
      return redirectWith(c, '/admin/roles', { kind: 'done', text: `Role ${value.name} was created.` });
    },
  );

async function changeRole(deps: WebDeps, c: WebContext): Promise<Response> {
  const role = await roleIn(deps, c);
  return handleForm(
    c,
    roleFields,
    async (entry) => rolePage(c, role, await countOf(deps, c, role), entry),
    async (value) => {
      await updateRole(deps, c.get('actor'), role.id, async () => value);
      return redirectWith(c, '/admin/roles', { kind: 'done', text: `Role ${value.name} was saved.` });
    },
  );
}

const roleIn = (deps: WebDeps, c: WebContext): Promise<Role> =>
  getRole(deps, c.get('actor'), pathId(c, 'id'));

const countOf = async (deps: WebDeps, c: WebContext, { id }: Role): Promise<number> =>
  (await listUsers(deps, c.get('actor'), async () => ({ roleId: id }))).length;

const valuesOf = (role: Role): Record<string, string> =>
  Object.fromEntries([['name', role.name], ...FLAGS.flatMap(([flag]) => (role[flag] ? [[flag, 'on']] : []))]);

function listPage(c: WebContext, roles: readonly Role[], users: readonly User[]): Promise<Response> {
  const counts = Map.groupBy(users, ({ roleId }) => roleId);
  return adminPage(c, {
    title: 'Roles',
    body: html`
<div class="bar"><h1>Roles</h1><a class="button primary" href="/admin/roles/new">New role</a></div>
<div class="scroll"><table>
<thead><tr><th scope="col">Role</th><th scope="col">Permissions</th><th scope="col" class="number">Users</th></tr></thead>
<tbody>${roles.map(
      (role) => html`
<tr><th scope="row"><a href="/admin/roles/${role.id}">${role.name}</a></th>
<td>${allowedText(role)}</td>
<td class="number">${usersLink(role.id, counts.get(role.id)?.length ?? 0)}</td></tr>`,
    )}</tbody>
</table></div>`,
  });
}

/** What a role allows, on one line. */
export const allowedText = (role: Role): string =>
  FLAGS.filter(([flag]) => role[flag])
    .map(([, label]) => label)
    .join(', ') || 'none';

const usersLink = (id: number, count: number): Html =>
  count === 0
    ? html`0`
    : html`<a href="/admin/users?role=${id}" aria-label="${count} ${count === 1 ? 'user' : 'users'} with this role">${count}</a>`;

function rolePage(c: WebContext, role: Role | null, users: number, entry: Entry): Promise<Response> {
  const isFixed = role?.name === ADMIN_ROLE;
  const { values, problems } = entry;
  return adminPage(c, {
    title: role?.name ?? 'New role',
    status: entry.status ?? 200,
    body: html`
<form class="card" method="post" action="/admin/roles${role ? `/${role.id}` : ''}">
<h1>${role?.name ?? 'New role'}</h1>
${alert(entry.refused)}
${isFixed ? html`<p class="notice waits">This role can't be changed or deleted, so that administrators can't lock themselves out.</p>` : ''}
<fieldset class="bare"${isFixed ? html` disabled` : ''}>
<legend class="unseen">Role</legend>
${field({ name: 'name', label: 'Name', problems }, (it) => html`<input ${it} value="${values.name ?? ''}" autocomplete="off" required>`)}
${FLAGS.map(([flag, label, hint]) => checkbox(flag, label, values[flag] !== undefined, hint))}
</fieldset>
<div class="bar">${isFixed ? '' : html`<button class="primary">${role ? 'Save' : 'Create role'}</button>`}<a class="button" href="/admin/roles">${isFixed ? 'Back' : 'Cancel'}</a></div>
</form>
${role && !isFixed ? deletion(role, users) : ''}`,
  });
}

const deletion = ({ id }: Role, users: number): Html =>
  users > 0
    ? html`<p>${usersLink(id, users)} ${users === 1 ? 'user has' : 'users have'} this role. A role can be deleted once no user has it.</p>`
    : html`<form method="post" action="/admin/roles/${id}/delete"><p>No user has this role. <button class="danger" data-confirm="Delete this role?">Delete role</button></p></form>`;
