/** Owns the pages of one user in the administration: made, changed, given a password, deleted. */
import { Hono } from 'hono';
import * as z from 'zod';
import type { User } from '../../../core/account.ts';
import { email, fsUid, integerText, name, username } from '../../../http/account-fields.ts';
import { pathId } from '../../../http/request.ts';
import { MAX_CREDENTIAL_LENGTH } from '../../../operations/authentication.ts';
import { listQuotas } from '../../../operations/quotas.ts';
import { listRoles } from '../../../operations/roles.ts';
import { createUser, getUser, updateUser } from '../../../operations/users.ts';
import type { WebContext, WebDeps, WebEnv } from '../../context.ts';
import { type Entry, orAgain } from '../../entry.ts';
import { fieldsOf, formOf, readFields } from '../../form.ts';
import { redirectWith } from '../../notice.ts';
import { userDeletionPages } from './user-deletion.ts';
import { newUserPage, userPage } from './user-form.ts';

export const password = z
  .string()
  .min(1, 'must not be empty')
  .max(MAX_CREDENTIAL_LENGTH, `must be ${MAX_CREDENTIAL_LENGTH} characters at most`);

const userFields = z
  .object({
    username,
    email,
    role: integerText,
    quota: integerText,
    priority: integerText,
    enabled: z.string().optional(),
    source: name,
    uid: z.union([z.literal('').transform(() => undefined), z.string().transform(Number).pipe(fsUid)]),
  })
  .transform(({ role, quota, enabled, source, uid, ...rest }) => ({
    ...rest,
    roleId: role,
    quotaId: quota,
    enabled: enabled !== undefined,
    authSource: source,
    fsUid: uid,
  }));

const newFields = z.object({ password });

export function userEditPages(deps: WebDeps): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  const chooseFrom = async (c: WebContext) => {
    const [roles, quotas] = await Promise.all([
      listRoles(deps, c.get('actor'), async () => ({})),
      listQuotas(deps, c.get('actor'), async () => ({})),
    ]);
    return { roles, quotas };
  };
  routes.get('/new', async (c) => newUserPage(c, await chooseFrom(c), { values: FRESH }));
  routes.post('/', async (c) => {
    const form = await formOf(c);
    const user = readFields(userFields, form);
    const secret = readFields(newFields, form);
    const again = async (entry: Partial<Entry>) =>
      newUserPage(c, await chooseFrom(c), { values: fieldsOf(form), ...entry });
    if (!user.value || !secret.value)
      return again({ problems: { ...user.problems, ...secret.problems }, status: 400 });
    const { value } = user;
    return orAgain(again, async () => {
      const id = await createUser(deps, c.get('actor'), async () => value);
      await updateUser(deps, c.get('actor'), id, async () => secret.value);
      return redirectWith(c, '/admin/users', { kind: 'done', text: `User ${value.username} is made.` });
    });
  });
  routes.get('/:id', async (c) => {
    const user = await getUser(deps, c.get('actor'), pathId(c, 'id'));
    return userPage(c, await chooseFrom(c), user, { values: valuesOf(user) });
  });
  routes.post('/:id', async (c) => {
    const user = await getUser(deps, c.get('actor'), pathId(c, 'id'));
    const form = await formOf(c);
    const { value, problems } = readFields(userFields, form);
    const again = async (entry: Partial<Entry>) =>
      userPage(c, await chooseFrom(c), user, { values: fieldsOf(form), ...entry });
    if (!value) return again({ problems, status: 400 });
    return orAgain(again, async () => {
      await updateUser(deps, c.get('actor'), user.id, async () => value);
      return redirectWith(c, '/admin/users', { kind: 'done', text: `User ${value.username} is changed.` });
    });
  });
  routes.post('/:id/password', async (c) => {
    const user = await getUser(deps, c.get('actor'), pathId(c, 'id'));
    const { value, problems } = readFields(newFields, await formOf(c));
    if (!value)
      return userPage(c, await chooseFrom(c), user, { values: valuesOf(user), problems, status: 400 });
    await updateUser(deps, c.get('actor'), user.id, async () => value);
    const text = `The password of ${user.username} is set; all sessions of theirs have ended.`;
    return redirectWith(c, '/admin/users', { kind: 'done', text });
  });
  routes.route('/', userDeletionPages(deps));
  return routes;
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
