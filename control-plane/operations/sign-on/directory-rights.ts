/** Gives users of the directory the role and the quota of their groups there, at each login (H649). */
import { ANY_GROUP, type GroupRow, plainName, rowFor } from '../../core/accounts/sign-on.ts';
import { OperationError } from '../../core/model/errors.ts';
import { deletePersonalTokensOf } from '../../store/accounts/personal-tokens.ts';
import { findAccountByName } from '../../store/accounts/users.ts';
import { changeOwn, type GroupDeps, hasRights, rightsBy } from '../accounts/group-rights.ts';
import type { PasswordSource, RightsOf } from '../passwords/password-source.ts';

export function rightsByDirectory(
  deps: GroupDeps,
  directory: PasswordSource,
  table: readonly GroupRow[],
): RightsOf {
  const rows = table.map((row) => ({
    ...row,
    group: row.group === ANY_GROUP ? ANY_GROUP : plainName(row.group),
  }));
  return async (account, origin) => {
    const { username } = account.user;
    const row = rowFor(rows, (await directory.groupsOf(username)).map(plainName));
    const actor = { user: account.user, credential: { by: 'password' } as const, origin };
    if (!row) {
      await deps.db.batch([deletePersonalTokensOf(account.user.id)]);
      await changeOwn(deps, actor, { identity: null }, ['groups']);
      throw new OperationError(
        'forbidden',
        'You are in none of the groups of the directory that may use Berth. Ask an administrator of Berth.',
      );
    }
    const rights = await rightsBy(deps, row, 'BERTH_LDAP_OPTIONS.groups');
    if (hasRights(actor, rights)) return account;
    await changeOwn(deps, actor, rights, ['roleId', 'quotaId']);
    return (await findAccountByName(deps.db, username)) ?? account;
  };
}
