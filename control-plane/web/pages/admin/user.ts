/** The pages of one user: create, change, set a password, delete. */
import { Hono } from 'hono';
import * as z from 'zod';
import { INTERNAL_SOURCE, LDAP_SOURCE, type User } from '../../../core/accounts/account.ts';
import { MAX_CREDENTIAL_LENGTH } from '../../../core/accounts/password-policy.ts';
import { OIDC_SOURCE } from '../../../core/accounts/sign-on.ts';
import { email, fsUid, integerText, name, username } from '../../../http/json/account-fields.ts';
import { pathId } from '../../../http/request.ts';
import { listQuotas } from '../../../operations/accounts/quotas.ts';
import { listRoles } from '../../../operations/accounts/roles.ts';
import { createUser, getLinkedUser, updateUser } from '../../../operations/accounts/users.ts';
import { handleForm } from '../../components/form-entry.ts';
import { redirectWith } from '../../components/notice.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import { userDeletionPages } from './user-deletion.ts';
import { type Choices, newUserPage, userPage } from './user-form.ts';
import { addSignOnRoutes, type LinkedUser } from './user-sign-on.ts';

export const password = z
  .string()
  .min(1, 'must not be empty')
  .max(MAX_CREDENTIAL_LENGTH, `must have at most ${MAX_CREDENTIAL_LENGTH} characters`);

const fields = z.object({
  username,
  email,
  role: integerText,
  quota: integerText,
  priority: integerText,
  enabled: z.string().optional(),
  source: name,
  uid: z.union([z.literal('').transform(() => undefined), z.string().transform(Number).pipe(fsUid)]),
});

const userOf = ({ role, quota, enabled, source, uid, ...rest }: z.infer<typeof fields>) => ({
  ...rest,
  roleId: role,
  quotaId: quota,
  enabled: enabled !== undefined,
  authSource: source,
  fsUid: uid,
});

const userFields = fields.transform(userOf);
const secretFields = z.object({ password });
/** Only users whose password Berth stores need one. */
const newUserFields = fields
  .extend({ password: z.literal('').or(password) })
  .refine(({ source, password }) => source !== INTERNAL_SOURCE || password !== '', {
    path: ['password'],
    error: 'must not be empty',
  })
  .refine(({ source, password }) => source !== LDAP_SOURCE || password === '', {
    path: ['password'],
    error: 'must be empty: the directory has it',
  })
  .refine(({ source, password }) => source !== OIDC_SOURCE || password === '', {
    path: ['password'],
    error: 'must be empty: the user signs on by the provider',
  })
  .transform(({ password, ...user }) => ({ ...userOf(user), ...(password !== '' && { password }) }));

export function userEditPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.get('/new', async (c) => newUserPage(c, await choicesOf(deps, c), { values: FRESH }));
  routes.post('/', (c) => addUser(deps, c));
  routes.get('/:id', async (c) => {
    const user = await userIn(deps, c);
    return userPage(c, await choicesOf(deps, c), user, { values: valuesOf(user) });
  });
  routes.post('/:id', (c) => changeUser(deps, c));
  routes.post('/:id/password', (c) => setPassword(deps, c));
  addSignOnRoutes(
    routes,
    deps,
    (c) => userIn(deps, c),
    async (c, user, entry) =>
      userPage(c, await choicesOf(deps, c), user, { ...entry, values: valuesOf(user) }),
  );
  routes.route('/', userDeletionPages(deps));
  return routes;
}

/** Creates the user with its password, or not at all (W105). */
const addUser = (deps: WebDeps, c: WebContext): Promise<Response> =>
  handleForm(
    c,
    newUserFields,
    async (entry) => newUserPage(c, await choicesOf(deps, c), entry),
    async (value) => {
      await createUser(deps, c.get('actor'), async () => value);
      return redirectWith(c, '/admin/users', { kind: 'done', text: `User ${value.username} was created.` });
    },
  );

async function changeUser(deps: WebDeps, c: WebContext): Promise<Response> {
  const user = await userIn(deps, c);
  return handleForm(
    c,
    userFields,
    async (entry) => userPage(c, await choicesOf(deps, c), user, entry),
    async (value) => {
      await updateUser(deps, c.get('actor'), user.id, async () => value);
      return redirectWith(c, '/admin/users', { kind: 'done', text: `User ${value.username} was saved.` });
    },
  );
}

async function setPassword(deps: WebDeps, c: WebContext): Promise<Response> {
  const user = await userIn(deps, c);
  return handleForm(
    c,
    secretFields,
    async (entry) => userPage(c, await choicesOf(deps, c), user, { ...entry, values: valuesOf(user) }),
    async (value) => {
      await updateUser(deps, c.get('actor'), user.id, async () => value);
      const text = `The password of ${user.username} was set. All sessions of ${user.username} were ended.`;
      return redirectWith(c, '/admin/users', { kind: 'done', text });
    },
  );
}

const userIn = (deps: WebDeps, c: WebContext): Promise<LinkedUser> =>
  getLinkedUser(deps, c.get('actor'), pathId(c, 'id'));

async function choicesOf(deps: WebDeps, c: WebContext): Promise<Choices> {
  const [roles, quotas] = await Promise.all([
    listRoles(deps, c.get('actor'), async () => ({})),
    listQuotas(deps, c.get('actor'), async () => ({})),
  ]);
  return { roles, quotas, provider: deps.signOn?.name };
}

const FRESH = { role: '', quota: '', priority: '0', enabled: 'on', source: 'internal', uid: '' };

const valuesOf = (user: User): Record<string, string> => ({
  username: user.username,
  email: user.email,
  role: String(user.roleId),
  quota: String(user.quotaId),
  priority: String(user.priority),
  ...(user.enabled ? { enabled: 'on' } : {}),
  source: user.authSource,
  uid: String(user.fsUid),
});
