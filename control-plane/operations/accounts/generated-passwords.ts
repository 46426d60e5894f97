/**
 * Passwords that Berth makes: of the first administrator of an empty database, and of a user whose password
 * an operator with access to the database resets. There is no default password.
 */
import { INTERNAL_SOURCE } from '../../core/accounts/account.ts';
import type { RoleChanges } from '../../core/accounts/account-input.ts';
import { entryWithoutUser } from '../../core/accounts/audit.ts';
import { passwordProblem } from '../../core/accounts/password-policy.ts';
import { insertAuditOfChange } from '../../store/accounts/audit.ts';
import { changeOfBuiltIn } from '../../store/accounts/roles.ts';
import {
  countUsers,
  findAccountByName,
  insertFirstAdministrator,
  replacePassword,
} from '../../store/accounts/users.ts';
import type { Db } from '../../store/db/db.ts';
import { Passwords, randomPassword } from '../passwords/passwords.ts';

const FIRST_ADMINISTRATOR = 'admin';

/** How built-in roles of the empty database change, by their names. */
export type BuiltInRoles = Readonly<Record<string, RoleChanges>>;

export interface FirstPassword {
  /** Undefined for a random password. */
  configured: string | undefined;
  minLength: number;
  passwords?: Passwords;
  roles?: BuiltInRoles | undefined;
}

/** Resolves to the random password, which cannot be read again, or to undefined if none was generated. */
export async function ensureAdministrator(
  db: Db,
  { configured, minLength, roles = {}, passwords = new Passwords() }: FirstPassword,
  nowMs: number,
): Promise<string | undefined> {
  if ((await countUsers(db)) > 0) return undefined;
  const password = configured ?? randomPassword(minLength);
  const problem = passwordProblem(password, FIRST_ADMINISTRATOR, minLength);
  if (problem !== undefined) throw new Error(`BERTH_ADMIN_PASSWORD: ${problem}`);
  const entry = entryWithoutUser('none', undefined, {
    action: 'create-user',
    targetName: FIRST_ADMINISTRATOR,
  });
  const audit = insertAuditOfChange(entry, nowMs, {
    sql: 'SELECT id FROM users WHERE username = ?',
    args: [FIRST_ADMINISTRATOR],
  });
  const hash = await passwords.hash(password);
  const made = await insertFirstAdministrator(db, FIRST_ADMINISTRATOR, hash, [
    audit,
    ...Object.entries(roles).map(([name, changes]) => changeOfBuiltIn(name, changes)),
  ]);
  return made && configured === undefined ? password : undefined;
}

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
  { minLength, nowMs }: { minLength: number; nowMs: number },
): Promise<ResetPassword | undefined> {
  const account = await findAccountByName(db, username);
  if (!account) return undefined;
  const { user, role } = account;
  const password = randomPassword(minLength);
  const deed = {
    action: 'update-user',
    targetId: user.id,
    targetName: username,
    fields: ['password'],
  } as const;
  const audit = insertAuditOfChange(entryWithoutUser('none', undefined, deed), nowMs);
  await replacePassword(db, user.id, await new Passwords().hash(password), audit);
  if (!user.enabled) return { username, password, obstacle: 'the user is disabled' };
  if (user.authSource !== INTERNAL_SOURCE)
    return { username, password, obstacle: `the account source is ${user.authSource}, not internal` };
  if (!role.canAccessApi)
    return { username, password, obstacle: `the role ${role.name} lacks "Use the API" (can_access_api)` };
  return { username, password };
}
