/**
 * The user for whom a provider vouches: found by issuer and subject, and created at the first sign-on where
 * the settings allow that. Never an existing user with the same name or address (ACC-16).
 */
import type { Account, Origin } from '../../core/accounts/account.ts';
import { entryWithoutUser } from '../../core/accounts/audit.ts';
import {
  DEFAULT_ROW,
  groupsIn,
  OIDC_SOURCE,
  rowFor,
  type SignOnSettings,
} from '../../core/accounts/sign-on.ts';
import { OperationError } from '../../core/model/errors.ts';
import { findAccountByIdentity } from '../../store/accounts/sign-ons.ts';
import { isLikeness } from '../../store/accounts/user-rows.ts';
import { changeOwn, type GroupDeps, hasRights, type Rights, rightsBy } from '../accounts/group-rights.ts';
import type { Statement } from './provider.ts';

type Deps = GroupDeps & { isUsername: (text: string) => boolean };

const SETTING = 'BERTH_OIDC_OPTIONS.groups';

/** A user whom the provider has just vouched for, as the audit log records them. */
export type UserOfSignOn = Account & { credential: { by: 'oidc' }; origin: Origin };

/** Throws `forbidden` if the settings or an administrator do not admit the user. */
export async function accountFor(
  deps: Deps,
  settings: SignOnSettings,
  statement: Statement,
  origin: Origin,
): Promise<UserOfSignOn> {
  const found = await findAccountByIdentity(deps.db, statement);
  const rights = await rightsOf(deps, settings, statement, found && userOf(found, origin));
  if (!found) {
    await create(deps, settings, statement, rights ?? (await rightsBy(deps, DEFAULT_ROW, SETTING)), origin);
    return admitted(await findAccountByIdentity(deps.db, statement), origin);
  }
  const actor = admitted(found, origin);
  if (!rights || hasRights(actor, rights)) return actor;
  await changeOwn(deps, actor, rights, ['roleId', 'quotaId']);
  return admitted(await findAccountByIdentity(deps.db, statement), origin);
}

function admitted(account: Account | undefined, origin: Origin): UserOfSignOn {
  if (!account?.user.enabled || account.user.authSource !== OIDC_SOURCE)
    throw new OperationError(
      'forbidden',
      'Your user here is disabled, or no longer one for sign-on. Ask an administrator of Berth.',
    );
  return userOf(account, origin);
}

const userOf = ({ user, role }: Account, origin: Origin): UserOfSignOn => ({
  user,
  role,
  origin,
  credential: { by: 'oidc' },
});

/** Undefined if the settings have no table. Who is in none of its groups any more is out at once (H645). */
async function rightsOf(
  deps: Deps,
  { groupsClaim, groups }: SignOnSettings,
  statement: Statement,
  known: UserOfSignOn | undefined,
): Promise<Rights | undefined> {
  if (!groups) return undefined;
  const row = rowFor(groups, groupsIn(statement.claims[groupsClaim]));
  if (row) return rightsBy(deps, row, SETTING);
  if (known?.user.enabled && known.user.authSource === OIDC_SOURCE) await endAccess(deps, known, statement);
  throw new OperationError(
    'forbidden',
    `You are in none of the groups that may use Berth (the claim ${groupsClaim}). Ask an administrator of Berth.`,
  );
}

async function create(
  { db, coordinator, isUsername }: Deps,
  { createsUsers, usernameClaim, name }: SignOnSettings,
  { issuer, subject, claims }: Statement,
  rights: Rights,
  origin: Origin,
): Promise<void> {
  const remedy = `Ask an administrator of Berth to give a user the subject ${subject}.`;
  if (!createsUsers) throw new OperationError('forbidden', `You have no user here yet. ${remedy}`);
  const username = claims[usernameClaim];
  // Letters of another width, for example, look like those of another name.
  if (typeof username !== 'string' || !isUsername(username) || username.normalize('NFKC') !== username)
    throw new OperationError(
      'forbidden',
      `${name} states no ${usernameClaim} that can be a user name here. ${remedy}`,
    );
  const taken = `The user name ${username} is taken here by another user. Capitals make no difference. ${remedy}`;
  if (await isLikeness(db, username)) throw new OperationError('forbidden', taken);
  const user = {
    username,
    email: emailIn(claims),
    ...rights,
    authSource: OIDC_SOURCE,
    priority: 0,
    enabled: true,
    identity: { issuer, subject },
  };
  const entry = entryWithoutUser('oidc', origin, { action: 'create-user', targetName: username });
  const written = await coordinator.changeAccounts({ kind: 'create-user', user }, undefined, entry);
  if (written.done) return;
  if (written.why === 'taken') throw new OperationError('forbidden', taken);
  throw new OperationError('unavailable', 'Roles or quotas are changing at this moment. Sign on again.');
}

/** Ends all sessions, and personal access tokens until the next sign-on, as each new link does. */
const endAccess = (deps: Deps, actor: UserOfSignOn, { issuer, subject }: Statement): Promise<void> =>
  changeOwn(deps, actor, { identity: { issuer, subject } }, ['groups']);

const MAX_EMAIL_LENGTH = 254;

/** For information only: nothing is decided by it. */
function emailIn({ email }: Statement['claims']): string {
  const isUsable = typeof email === 'string' && email.length <= MAX_EMAIL_LENGTH && /^[!-~]*$/.test(email);
  return isUsable ? email : '';
}
