/** Roles and quotas that a table of settings gives to members of groups: looked up, and given to a user. */
import type { KnownActor } from '../../core/accounts/account.ts';
import type { StoredUserChanges } from '../../core/accounts/account-input.ts';
import { entryOf } from '../../core/accounts/audit.ts';
import type { GroupRow } from '../../core/accounts/sign-on.ts';
import { OperationError } from '../../core/model/errors.ts';
import { listQuotas } from '../../store/accounts/quotas.ts';
import { listRoles } from '../../store/accounts/roles.ts';
import type { Context } from '../context.ts';

export type GroupDeps = Pick<Context, 'db'> & { coordinator: Pick<Context['coordinator'], 'changeAccounts'> };

export interface Rights {
  roleId: number;
  quotaId: number;
}

/** Throws `forbidden` if there is no such role or quota. `setting` has the table. */
export async function rightsBy(
  { db }: Pick<GroupDeps, 'db'>,
  row: GroupRow,
  setting: string,
): Promise<Rights> {
  const [[role], [quota]] = await Promise.all([
    listRoles(db, { name: row.role }),
    listQuotas(db, { name: row.quota }),
  ]);
  if (role && quota) return { roleId: role.id, quotaId: quota.id };
  const missing = role ? `quota ${row.quota}` : `role ${row.role}`;
  throw new OperationError(
    'forbidden',
    `${setting} names the ${missing}, which does not exist. Ask an administrator of Berth to create it.`,
  );
}

export const hasRights = ({ user }: Pick<KnownActor, 'user'>, { roleId, quotaId }: Rights): boolean =>
  user.roleId === roleId && user.quotaId === quotaId;

/** Changes the user who logs in, and records that as a change by this user. */
export async function changeOwn(
  { coordinator }: GroupDeps,
  actor: Parameters<typeof entryOf>[0] & Pick<KnownActor, 'user'>,
  changes: StoredUserChanges,
  fields: readonly string[],
): Promise<void> {
  const { id, username } = actor.user;
  const entry = entryOf(actor, { action: 'update-user', targetId: id, targetName: username, fields });
  const written = await coordinator.changeAccounts({ kind: 'update-user', id, changes }, undefined, entry);
  if (!written.done)
    throw new OperationError('unavailable', 'Roles or quotas are changing at this moment. Log in again.');
}
