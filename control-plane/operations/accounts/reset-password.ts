/** Gives a user a random password, for an operator with access to the database. */
import { INTERNAL_SOURCE } from '../../core/accounts/account.ts';
import { findAccountByName, replacePassword } from '../../store/accounts/users.ts';
import type { Db } from '../../store/db/db.ts';
import { hashPassword, randomPassword } from './passwords.ts';

export interface ResetPassword {
  username: string;
  password: string;
  /** Why the user cannot log in with it; undefined if the user can. */
  obstacle?: string;
}

/** Ends all sessions and tokens of the user. Undefined if there is no such user. */
export async function resetPassword(
  db: Db,
  username: string,
  minLength: number,
): Promise<ResetPassword | undefined> {
  const account = await findAccountByName(db, username);
  if (!account) return undefined;
  const { user, role } = account;
  const password = randomPassword(minLength);
  await replacePassword(db, user.id, await hashPassword(password));
  if (!user.enabled) return { username, password, obstacle: 'the user is disabled' };
  if (user.authSource !== INTERNAL_SOURCE)
    return { username, password, obstacle: `the account source is ${user.authSource}, not internal` };
  if (!role.canAccessApi)
    return { username, password, obstacle: `the role ${role.name} lacks "Use the API" (can_access_api)` };
  return { username, password };
}
