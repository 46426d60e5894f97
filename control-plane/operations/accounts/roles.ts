/** Use cases on roles. Each one authorises on its first line. */
import { type Actor, ADMIN_ROLE, authorise, type Role } from '../../core/accounts/account.ts';
import type { NameFilter, NewRole, RoleChanges } from '../../core/accounts/account-input.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { Made } from '../../core/model/idempotency.ts';
import * as store from '../../store/accounts/roles.ts';
import { reviewAccess } from '../access-review.ts';
import type { Context, ReadKey } from '../context.ts';
import { existing, type Input, idOf, keyOf, madeBy, referencesText } from './write-outcome.ts';

const IMMUTABLE = `The role ${ADMIN_ROLE} can't be changed or deleted.`;

export async function createRole(
  { coordinator }: Context,
  actor: Actor,
  input: Input<NewRole>,
  readKey?: ReadKey,
): Promise<Made> {
  const account = authorise(actor, { kind: 'configure' });
  const role = await input();
  const key = keyOf(account, readKey);
  return madeBy(await coordinator.changeAccounts({ kind: 'create-role', role }, key), 'role');
}

export async function getRole({ db }: Context, actor: Actor, id: number): Promise<Role> {
  authorise(actor, { kind: 'see-configuration' });
  return existing(await store.findRole(db, id), 'role');
}

export async function listRoles({ db }: Context, actor: Actor, filter: Input<NameFilter>): Promise<Role[]> {
  authorise(actor, { kind: 'see-configuration' });
  return store.listRoles(db, await filter());
}

export async function updateRole(
  context: Context,
  actor: Actor,
  id: number,
  input: Input<RoleChanges>,
): Promise<void> {
  authorise(actor, { kind: 'configure' });
  const changes = await input();
  mutable(await store.findRole(context.db, id));
  idOf(await store.updateRole(context.db, id, changes), 'role', IMMUTABLE);
  await reviewAccess(context, null);
}

export async function deleteRole({ db }: Context, actor: Actor, id: number): Promise<void> {
  authorise(actor, { kind: 'configure' });
  mutable(await store.findRole(db, id));
  const deleted = await store.deleteRole(db, id);
  idOf(deleted, 'role', deleted.done ? '' : await referencesText(db, 'role', id));
}

function mutable(role: Role | undefined): void {
  if (existing(role, 'role').name === ADMIN_ROLE) throw new OperationError('conflict', IMMUTABLE);
}
