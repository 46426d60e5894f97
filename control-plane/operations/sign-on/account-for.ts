/**
 * The user for whom a provider vouches: found by issuer and subject, and created at the first sign-on where
 * the settings allow that. Never an existing user with the same name or address (ACC-16).
 */
import type { Account, Origin } from '../../core/accounts/account.ts';
import { entryOf, entryWithoutUser } from '../../core/accounts/audit.ts';
import {
  DEFAULT_ROW,
  type GroupRow,
  groupsIn,
  OIDC_SOURCE,
  rowFor,
  type SignOnSettings,
} from '../../core/accounts/sign-on.ts';
import { OperationError } from '../../core/model/errors.ts';
import { listQuotas } from '../../store/accounts/quotas.ts';
import { listRoles } from '../../store/accounts/roles.ts';
import { findAccountByIdentity } from '../../store/accounts/sign-ons.ts';
import type { Context } from '../context.ts';
import type { Statement } from './provider.ts';

type Deps = Pick<Context, 'db'> & { coordinator: Pick<Context['coordinator'], 'changeAccounts'> } & {
  isUsername: (text: string) => boolean;
};

/** A user whom the provider has just vouched for, as the audit log records them. */
export type UserOfSignOn = Account & { credential: { by: 'oidc' }; origin: Origin };

interface Rights {
  roleId: number;
  quotaId: number;
}

/** Throws `forbidden` if the settings or an administrator do not admit the user. */
export async function accountFor(
  deps: Deps,
  settings: SignOnSettings,
  statement: Statement,
  origin: Origin,
): Promise<UserOfSignOn> {
  const rights = settings.groups && (await rightsOf(deps, settings, settings.groups, statement));
  const found = await findAccountByIdentity(deps.db, statement);
  if (!found) {
    await create(deps, settings, statement, rights ?? (await rightsBy(deps, DEFAULT_ROW)), origin);
    return admitted(await findAccountByIdentity(deps.db, statement), origin);
  }
  const actor = admitted(found, origin);
  if (!rights || (found.user.roleId === rights.roleId && found.user.quotaId === rights.quotaId)) return actor;
  await changeRights(deps, actor, rights);
  return admitted(await findAccountByIdentity(deps.db, statement), origin);
}

function admitted(account: Account | undefined, origin: Origin): UserOfSignOn {
  if (!account?.user.enabled || account.user.authSource !== OIDC_SOURCE)
    throw new OperationError(
      'forbidden',
      'Your user here is disabled, or no longer one for sign-on. Ask an administrator of Berth.',
    );
  return { user: account.user, role: account.role, credential: { by: 'oidc' }, origin };
}

async function rightsOf(
  deps: Deps,
  { groupsClaim }: SignOnSettings,
  rows: readonly GroupRow[],
  { claims }: Statement,
): Promise<Rights> {
  const row = rowFor(rows, groupsIn(claims[groupsClaim]));
  if (row) return rightsBy(deps, row);
  throw new OperationError(
    'forbidden',
    `You are in none of the groups that may use Berth (the claim ${groupsClaim}). Ask an administrator of Berth.`,
  );
}

async function rightsBy({ db }: Deps, row: GroupRow): Promise<Rights> {
  const [[role], [quota]] = await Promise.all([
    listRoles(db, { name: row.role }),
    listQuotas(db, { name: row.quota }),
  ]);
  if (role && quota) return { roleId: role.id, quotaId: quota.id };
  const missing = role ? `quota ${row.quota}` : `role ${row.role}`;
  throw new OperationError(
    'forbidden',
    `BERTH_OIDC_GROUPS names the ${missing}, which does not exist. Ask an administrator of Berth to create it.`,
  );
}

async function create(
  { coordinator, isUsername }: Deps,
  { createsUsers, usernameClaim, name }: SignOnSettings,
  { issuer, subject, claims }: Statement,
  rights: Rights,
  origin: Origin,
): Promise<void> {
  const remedy = `Ask an administrator of Berth to give a user the subject ${subject}.`;
  if (!createsUsers) throw new OperationError('forbidden', `You have no user here yet. ${remedy}`);
  const username = claims[usernameClaim];
  if (typeof username !== 'string' || !isUsername(username))
    throw new OperationError(
      'forbidden',
      `${name} states no ${usernameClaim} that can be a user name here. ${remedy}`,
    );
  const user = {
    ...{ username, email: emailIn(claims), ...rights, authSource: OIDC_SOURCE, priority: 0, enabled: true },
    identity: { issuer, subject },
  };
  const entry = entryWithoutUser('oidc', origin, { action: 'create-user', targetName: username });
  const written = await coordinator.changeAccounts({ kind: 'create-user', user }, undefined, entry);
  if (written.done) return;
  if (written.why === 'taken')
    throw new OperationError(
      'forbidden',
      `The user name ${username} is taken here by another user. ${remedy}`,
    );
  throw new OperationError('unavailable', 'Roles or quotas are changing at this moment. Sign on again.');
}

async function changeRights({ coordinator }: Deps, actor: UserOfSignOn, rights: Rights): Promise<void> {
  const { id, username } = actor.user;
  const fields = ['roleId', 'quotaId'];
  const entry = entryOf(actor, { action: 'update-user', targetId: id, targetName: username, fields });
  const written = await coordinator.changeAccounts(
    { kind: 'update-user', id, changes: rights },
    undefined,
    entry,
  );
  if (!written.done)
    throw new OperationError('unavailable', 'Roles or quotas are changing at this moment. Sign on again.');
}

const MAX_EMAIL_LENGTH = 254;

/** For information only: nothing is decided by it. */
function emailIn({ email }: Statement['claims']): string {
  const isUsable = typeof email === 'string' && email.length <= MAX_EMAIL_LENGTH && /^[!-~]*$/.test(email);
  return isUsable ? email : '';
}
