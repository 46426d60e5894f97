/** Use cases on users. Each one authorises on its first line. */
import {
  type Actor,
  authorise,
  INTERNAL_SOURCE,
  type KnownActor,
  LDAP_SOURCE,
  type User,
} from '../../core/accounts/account.ts';
import {
  givenFields,
  type NewUser,
  type UserChanges,
  type UserFilter,
} from '../../core/accounts/account-input.ts';
import { entryOf } from '../../core/accounts/audit.ts';
import { passwordProblem } from '../../core/accounts/password-policy.ts';
import { folded, type Identity, isAlike, OIDC_SOURCE } from '../../core/accounts/sign-on.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { Made } from '../../core/model/idempotency.ts';
import { findQuota } from '../../store/accounts/quotas.ts';
import { findRole } from '../../store/accounts/roles.ts';
import { findIdentity } from '../../store/accounts/sign-ons.ts';
import * as store from '../../store/accounts/user-rows.ts';
import { attempted } from '../audit.ts';
import type { Context, ReadKey } from '../context.ts';
import { existing, type Input, idOf, keyOf, madeBy } from './write-outcome.ts';

/** Executions that are removed concurrently; they share commits. */
const MAX_CONCURRENT_REMOVALS = 50;

/** Shown in place of a form, too. */
export const DIRECTORYS_PASSWORD =
  'Berth does not store the password of a user of ldap: it is that of the directory, and is changed there.';
/** Shown in place of a form, too. */
export const PROVIDERS_PASSWORD =
  'A user of oidc has no password here: the user signs on by the provider (OpenID Connect).';
const NOT_OWN = 'current_password: applies only to a new password of your own.';
const LAST_ADMINISTRATOR = 'This is the last enabled administrator: create another administrator first.';

export const createUser = (
  context: Context,
  actor: Actor,
  input: Input<NewUser>,
  readKey?: ReadKey,
): Promise<Made> =>
  attempted(context, actor, { action: 'create-user' }, async () => {
    const account = authorise(actor, { kind: 'configure' });
    const { password, subject, issuer, ...user } = await input();
    const key = keyOf(account, readKey);
    const linked = linkOf(context, { subject, issuer }, user.authSource);
    checkPassword(context, password, user);
    await checkReferences(context, user);
    await checkAlike(context, { ...user, ...linked });
    const created = await context.coordinator.changeAccounts(
      {
        kind: 'create-user',
        user: { ...user, ...linked, passwordHash: await hashIfGiven(context, password) },
      },
      key,
      entryOf(account, { action: 'create-user', targetName: user.username }),
    );
    return madeBy(created, 'user');
  });

export async function getUser({ db }: Context, actor: Actor, id: number): Promise<User> {
  authorise(actor, { kind: 'read-user', userId: id });
  return existing(await store.findUser(db, id), 'user');
}

/** A user, and who it is at a provider; null if it is linked to nobody. */
export async function getLinkedUser(
  context: Context,
  actor: Actor,
  id: number,
): Promise<User & { identity: Identity | null }> {
  const user = await getUser(context, actor, id);
  return { ...user, identity: (await findIdentity(context.db, id)) ?? null };
}

export async function listUsers({ db }: Context, actor: Actor, filter: Input<UserFilter>): Promise<User[]> {
  authorise(actor, { kind: 'see-configuration' });
  return store.listUsers(db, await filter());
}

/** Verifies the current password of a user; throws if it is wrong. */
export type ConfirmPassword = (username: string, password: string) => Promise<void>;

/**
 * Changes the given fields. A new password, role, source or `enabled` ends the user's sessions and cached
 * credentials.
 */
export const updateUser = (
  context: Context,
  actor: Actor,
  id: number,
  input: Input<UserChanges>,
  confirm?: ConfirmPassword,
): Promise<void> =>
  attempted(context, actor, { action: 'update-user', targetId: id }, () =>
    writeChanges(context, actor, id, input, confirm),
  );

async function writeChanges(
  context: Context,
  actor: Actor,
  id: number,
  input: Input<UserChanges>,
  confirm: ConfirmPassword | undefined,
): Promise<void> {
  authorise(actor, { kind: 'update-user', userId: id, fields: [] });
  const { password, currentPassword, subject, issuer, ...changes } = await input();
  const asked = givenFields({ ...changes, subject, issuer });
  const account = authorise(actor, { kind: 'update-user', userId: id, fields: asked });
  const user = existing(await store.findUser(context.db, id), 'user');
  const { username } = user;
  const linked = await newLinkOf(context, user, { subject, issuer }, changes.authSource);
  const after = {
    id,
    username: changes.username ?? username,
    authSource: linked.authSource ?? changes.authSource ?? user.authSource,
  };
  checkPassword(context, password, after);
  if (password !== undefined && id === account.user.id)
    await requireCurrentPassword(account, 'A new password of your own', currentPassword, confirm);
  else if (currentPassword !== undefined) throw new OperationError('invalid', NOT_OWN);
  await checkReferences(context, changes);
  const isRenamed = after.username !== username || after.authSource !== user.authSource;
  if (isRenamed) await checkAlike(context, after);
  const stored = {
    ...changes,
    ...linked,
    passwordHash: await hashIfGiven(context, password),
    ...(isRenamed && { foldedName: folded(after.username) }),
  };
  const fields = [...asked, ...givenFields({ password })];
  const entry = entryOf(account, { action: 'update-user', targetId: id, targetName: username, fields });
  const updated = await context.coordinator.changeAccounts(
    { kind: 'update-user', id, changes: stored },
    undefined,
    entry,
  );
  idOf(updated, 'user', LAST_ADMINISTRATOR);
}

/**
 * Links a user to a subject, or unlinks it: it becomes a user of Berth again, without a password, unless
 * `authSource` is another one.
 */
async function newLinkOf(
  context: Context,
  user: User,
  link: Pick<UserChanges, 'subject' | 'issuer'>,
  authSource: string | undefined,
): Promise<{ authSource?: string; identity?: Identity | null }> {
  const { subject, issuer } = link;
  if (subject !== null) return linkOf(context, { subject, issuer }, authSource ?? OIDC_SOURCE);
  if (authSource === OIDC_SOURCE)
    throw new OperationError('invalid', `subject: a user of ${OIDC_SOURCE} can't log in without one.`);
  const isLinked = (await findIdentity(context.db, user.id)) !== undefined;
  const source = authSource ?? (user.authSource === OIDC_SOURCE ? INTERNAL_SOURCE : user.authSource);
  return { authSource: source, ...(isLinked && { identity: null }) };
}

/** Links a user to a subject of the provider, which makes it a user for sign-on. */
function linkOf(
  { signOn }: Context,
  { subject, issuer }: { subject?: string | undefined; issuer?: string | undefined },
  authSource: string,
): { authSource?: string; identity?: Identity } {
  if (subject === undefined && issuer !== undefined)
    throw new OperationError('invalid', 'issuer: applies only beside a subject.');
  if (subject === undefined) return {};
  if (!signOn)
    throw new OperationError('invalid', 'subject: nobody signs on here, since BERTH_OIDC_ISSUER is not set.');
  if (authSource !== OIDC_SOURCE)
    throw new OperationError(
      'invalid',
      `subject: applies only to users whose auth_source is ${OIDC_SOURCE}.`,
    );
  if (issuer !== undefined && issuer !== signOn.issuer)
    throw new OperationError('invalid', `issuer: users sign on by ${signOn.issuer} here.`);
  return { authSource: OIDC_SOURCE, identity: { issuer: signOn.issuer, subject } };
}

/**
 * Basic credentials have just proved the password; a cookie or a token proves it never, and a personal access
 * token does not suffice even with the password. `what` requires it.
 */
export async function requireCurrentPassword(
  { user, credential }: KnownActor,
  what: string,
  currentPassword: string | undefined,
  confirm: ConfirmPassword | undefined,
): Promise<void> {
  if (currentPassword !== undefined && confirm && credential.by !== 'personal-token')
    return confirm(user.username, currentPassword);
  if (credential.by === 'password') return;
  throw new OperationError(
    'forbidden',
    `${what} requires your current password: send it as current_password, or as HTTP Basic. On the web, use the page of your account.`,
  );
}

function checkPassword(
  { minPasswordLength }: Context,
  password: string | undefined,
  { username, authSource }: Pick<User, 'username' | 'authSource'>,
): void {
  if (password === undefined) return;
  if (authSource === LDAP_SOURCE) throw new OperationError('invalid', `password: ${DIRECTORYS_PASSWORD}`);
  if (authSource === OIDC_SOURCE) throw new OperationError('invalid', `password: ${PROVIDERS_PASSWORD}`);
  const problem = passwordProblem(password, username, minPasswordLength);
  if (problem !== undefined) throw new OperationError('invalid', `password: ${problem}.`);
}

/**
 * A directory would take the password of one entry for both of two such users (H776). The statement of the
 * change refuses what comes meanwhile (H823), and this has the reason.
 */
async function checkAlike(
  { db }: Context,
  { id, username, authSource }: Pick<User, 'username' | 'authSource'> & { id?: number },
): Promise<void> {
  if (authSource !== LDAP_SOURCE) return;
  const users = await store.listUsers(db, { authSource });
  const other = users.find((one) => one.id !== id && isAlike(one.username, username));
  // The same name is refused as for any user.
  if (other === undefined || other.username === username) return;
  throw new OperationError(
    'conflict',
    `The user ${other.username} is the same one to the directory: capitals make no difference there.`,
  );
}

/** The executions that a deletion of the user would delete, and how many of them have not ended. */
export async function countExecutions(
  { db }: Context,
  actor: Actor,
  id: number,
): Promise<{ executions: number; unended: number }> {
  authorise(actor, { kind: 'see-configuration' });
  return store.countExecutions(db, id);
}

/**
 * Disables the user at once, then deletes its executions, which stops their containers. If that is
 * interrupted, a second deletion of the same user continues it.
 */
export const deleteUser = (context: Context, actor: Actor, id: number): Promise<void> =>
  attempted(context, actor, { action: 'delete-user', targetId: id }, () => remove(context, actor, id));

async function remove(context: Context, actor: Actor, id: number): Promise<void> {
  const account = authorise(actor, { kind: 'configure' });
  const user = await store.findUser(context.db, id);
  const executions = user ? await disable(context, account, user) : await leftOver(context, id);
  for (let at = 0; at < executions.length; at += MAX_CONCURRENT_REMOVALS) {
    const batch = executions.slice(at, at + MAX_CONCURRENT_REMOVALS);
    await Promise.all(batch.map((execution) => removeExecution(context, execution)));
  }
  await context.db.batch([store.purgeUsers]);
}

async function disable(
  { db, coordinator }: Context,
  account: KnownActor,
  { id, username }: User,
): Promise<number[]> {
  const entry = entryOf(account, { action: 'delete-user', targetId: id, targetName: username });
  const deleted = await coordinator.changeAccounts({ kind: 'delete-user', id }, undefined, entry);
  idOf(deleted, 'user', LAST_ADMINISTRATOR);
  return store.listExecutionIds(db, id);
}

/** Executions left over by an interrupted deletion. */
async function leftOver({ db }: Context, id: number): Promise<number[]> {
  const executions = await store.listExecutionIds(db, id);
  return existing(executions.length > 0 ? executions : undefined, 'user');
}

async function removeExecution({ coordinator }: Context, executionId: number): Promise<void> {
  try {
    await coordinator.remove(executionId);
  } catch (error) {
    // Another request has deleted it in the meantime.
    if (!(error instanceof OperationError) || error.code !== 'not-found') throw error;
  }
}

const hashIfGiven = async (
  { passwords }: Context,
  password: string | undefined,
): Promise<string | undefined> => (password === undefined ? undefined : passwords.hash(password));

async function checkReferences(
  { db }: Context,
  { roleId, quotaId }: Pick<UserChanges, 'roleId' | 'quotaId'>,
): Promise<void> {
  if (roleId !== undefined && !(await findRole(db, roleId)))
    throw new OperationError('invalid', `role_id: there is no role ${roleId}.`);
  if (quotaId !== undefined && !(await findQuota(db, quotaId)))
    throw new OperationError('invalid', `quota_id: there is no quota ${quotaId}.`);
}
