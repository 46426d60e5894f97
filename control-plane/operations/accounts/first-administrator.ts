/**
 * Creates the first administrator of an empty database, with the configured password or a random one. There
 * is no default password.
 */
import { randomBytes } from 'node:crypto';
import { countUsers, insertFirstAdministrator } from '../../store/accounts/users.ts';
import type { Db } from '../../store/db/db.ts';
import { hashPassword } from './passwords.ts';

/** Resolves to the random password, which cannot be read again, or to undefined if none was generated. */
export async function ensureAdministrator(
  db: Db,
  configured: string | undefined,
): Promise<string | undefined> {
  if ((await countUsers(db)) > 0) return undefined;
  const password = configured ?? randomBytes(12).toString('base64url');
  const made = await insertFirstAdministrator(db, await hashPassword(password));
  return made && configured === undefined ? password : undefined;
}
