/**
 * Creates the first administrator of an empty database, with the configured password or a random one. There
 * is no default password.
 */
import { passwordProblem } from '../../core/accounts/password-policy.ts';
import { countUsers, insertFirstAdministrator } from '../../store/accounts/users.ts';
import type { Db } from '../../store/db/db.ts';
import { hashPassword, randomPassword } from './passwords.ts';

const FIRST_ADMINISTRATOR = 'admin';

export interface FirstPassword {
  /** Undefined for a random password. */
  configured: string | undefined;
  minLength: number;
}

/** Resolves to the random password, which cannot be read again, or to undefined if none was generated. */
export async function ensureAdministrator(
  db: Db,
  { configured, minLength }: FirstPassword,
): Promise<string | undefined> {
  if ((await countUsers(db)) > 0) return undefined;
  const password = configured ?? randomPassword(minLength);
  const problem = passwordProblem(password, FIRST_ADMINISTRATOR, minLength);
  if (problem !== undefined) throw new Error(`BERTH_ADMIN_PASSWORD: ${problem}`);
  const made = await insertFirstAdministrator(db, FIRST_ADMINISTRATOR, await hashPassword(password));
  return made && configured === undefined ? password : undefined;
}
