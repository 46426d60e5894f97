/** Use cases on roles. Each one authorises on its first line. */
import { type Actor, ADMIN_ROLE, authorise, type Role } from '../../core/accounts/account.ts';
import {
  givenFields,
  type NameFilter,
  type NewRole,
  type RoleChanges,
} from '../../core/accounts/account-input.ts';
import { entryOf } from '../../core/accounts/audit.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { Made } from '../../core/model/idempotency.ts';
import { insertAuditOfChange } from '../../store/accounts/audit.ts';
import * as store from '../../store/accounts/roles.ts';
import { reviewAccess } from '../access-review.ts';
import { attempted } from '../audit.ts';
import type { Context, ReadKey } from '../context.ts';
import { existing, type Input, idOf, keyOf, madeBy, referencesText } from './write-outcome.ts';

const IMMUTABLE = `The role ${ADMIN_ROLE} can't be changed or deleted.`;

export const createRole = (
  context: Context,
  actor: Actor,
  input: Input<NewRole>,
  readKey?: ReadKey,
): Promise<Made> =>
  attempted(context, actor, { action: 'create-role' }, async () => {
    const account = authorise(actor, { kind: 'configure' });
    const role = await input();
    const key = keyOf(account, readKey);
    const entry = entryOf(account, { action: 'create-role', targetName: role.name });
    return madeBy(
      await context.coordinator.changeAccounts({ kind: 'create-role', role }, key, entry),
      'role',
    );
  });

/** `forAll`: any user may read it. */
export async function getRole({ db }: Context, actor: Actor, id: number, forAll = false): Promise<Role> {
  authorise(actor, { kind: forAll ? 'login' : 'see-configuration' });
  return existing(await store.findRole(db, id), 'role');
}

export async function listRoles({ db }: Context, actor: Actor, filter: Input<NameFilter>): Promise<Role[]> {
  authorise(actor, { kind: 'see-configuration' });
  return store.listRoles(db, await filter());
}

export const updateRole = (
  context: Context,
  actor: Actor,
  id: number,
  input: Input<RoleChanges>,
): Promise<void> =>
  attempted(context, actor, { action: 'update-role', targetId: id }, async () => {
    const { db, nowMs } = context;
    const account = authorise(actor, { kind: 'configure' });
    const changes = await input();
    const { name } = mutable(await store.findRole(db, id));
    const fields = givenFields(changes);
    const entry = entryOf(account, { action: 'update-role', targetId: id, targetName: name, fields });
    idOf(await store.updateRole(db, id, changes, insertAuditOfChange(entry, nowMs())), 'role', IMMUTABLE);
    await reviewAccess(context, null);
  });

/** `moves`: its users get the role of plain users where that allows them nothing more. */
export const deleteRole = (context: Context, actor: Actor, id: number, moves = false): Promise<void> =>
  attempted(context, actor, { action: 'delete-role', targetId: id }, async () => {
    const { db, nowMs } = context;
    const account = authorise(actor, { kind: 'configure' });
    const { name } = mutable(await store.findRole(db, id));
    const entry = entryOf(account, { action: 'delete-role', targetId: id, targetName: name });
    const deleted = moves
      ? await context.coordinator.changeAccounts({ kind: 'delete-role', id, moves }, undefined, entry)
      : await store.deleteRole(db, id, insertAuditOfChange(entry, nowMs()));
    idOf(deleted, 'role', deleted.done ? '' : await referencesText(db, 'role', id));
    if (moves) await reviewAccess(context, null);
  });

function mutable(found: Role | undefined): Role {
  const role = existing(found, 'role');
  if (role.name === ADMIN_ROLE) throw new OperationError('conflict', IMMUTABLE);
  return role;
}
