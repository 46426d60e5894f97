/** Owns users and roles for tests of either group of the API, and what becomes of them behind the control plane's back. */

import { beginAttempt } from '../../control-plane/operations/accounts/login-throttle.ts';
import { hashPassword } from '../../control-plane/operations/accounts/passwords.ts';
import type { Value } from '../../control-plane/store/db/db.ts';
import { AccountClient, ROLE } from './account-client.ts';
import { type Host, restart, writeRow } from './hosts.ts';
import { WebClient } from './web-client.ts';

export type RoleName = 'admin' | 'superuser' | 'user';

/** Makes an enabled user: by the API, or, where the variant's has no users, by the form of the administration. */
export async function addUser(host: Host, username: string, password: string, role: RoleName): Promise<void> {
  if (host.variant === 'B') {
    await new AccountClient(() => host).addUser(username, { role_id: ROLE[role] }, password);
    return;
  }
  const admin = await WebClient.logIn(() => host);
  const rest = { email: '', quota: '1', priority: '0', enabled: 'on', source: 'internal', uid: '' };
  await admin.act('/admin/users', { username, password, role: String(ROLE[role]), ...rest });
}

/** Makes enabled users of one password as rows, for which the host is restarted: the coordinator is to know all users. */
export async function insertUsers(
  host: Host,
  password: string,
  users: readonly { name: string; role: string }[],
): Promise<void> {
  const hash = await hashPassword(password);
  for (const { name, role } of users) {
    await writeRow(
      host,
      `INSERT INTO users (username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled, password_hash)
        SELECT ?, '', r.id, q.id, 'internal', 1001, 0, 1, ? FROM roles r, quotas q WHERE r.name = ? AND q.name = 'default'`,
      [name, hash, role],
    );
  }
  await restart(host);
}

/** Switches a user off or on, which ends what was proved of the user before, as any change of a user does. */
export const enableUser = (host: Host, username: string, enabled: boolean): Promise<void> =>
  writeRow(
    host,
    'UPDATE users SET enabled = ?, credential_version = credential_version + 1 WHERE username = ?',
    [Number(enabled), username],
  );

/** Takes the right to use the API from a role, or gives it back. */
export const allowApi = (host: Host, role: RoleName, allowed: boolean): Promise<void> =>
  writeRow(host, 'UPDATE roles SET can_access_api = ? WHERE name = ?', [Number(allowed), role]);

/** Lets logins of that name from that address have failed, without the time that takes. */
export async function failLogins(
  host: Host,
  address: string,
  username: string,
  times: number,
): Promise<void> {
  const db = await host.openDb();
  for (let n = 0; n < times; n++)
    await (await beginAttempt(db, () => Date.now(), username, address)).failed();
  await db.close();
}

/** Lets the time pass that failed logins have to wait. */
export async function passLoginDelays(host: Host): Promise<void> {
  const db = await host.openDb();
  await db.batch([{ sql: 'UPDATE login_failures SET last_ms = last_ms - 900000', args: [] }]);
  await db.close();
}

/** Lets the sessions of a user be over. */
export const expireSessions = (host: Host, username: string): Promise<void> =>
  writeRow(
    host,
    'UPDATE sessions SET expires_ms = 1 WHERE user_id = (SELECT id FROM users WHERE username = ?)',
    [username],
  );

export const FLAGS = [
  'can_change_config',
  'can_delete_executions',
  'can_see_status',
  'can_access_full_app_shop',
  'can_operate_others',
  'can_customize_resources',
  'can_access_api',
] as const;

export type Flag = (typeof FLAGS)[number];

/** Sets the flags of a role, which is made where there is none of the name. */
export const setRole = (host: Host, name: string, flags: readonly Flag[]): Promise<void> =>
  writeRow(
    host,
    `INSERT INTO roles (name, ${FLAGS.join(', ')}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET ${FLAGS.map((flag) => `${flag} = excluded.${flag}`).join(', ')}`,
    [name, ...FLAGS.map((flag) => Number(flags.includes(flag)))],
  );

/** Changes what lets the user in, as an administrator would: each ends what was proved of the user before. */
export const changeUser = async (
  host: Host,
  username: string,
  change: 'password' | 'role' | 'enabled' | 'deleted',
): Promise<void> => {
  const [column, value] = {
    password: ['password_hash', await hashPassword('changed')],
    role: ['role_id', 2],
    enabled: ['enabled', 0],
    deleted: ['deleted', 1],
  }[change] as [string, Value];
  await writeRow(
    host,
    `UPDATE users SET ${column} = ?, credential_version = credential_version + 1 WHERE username = ?`,
    [value, username],
  );
};

/** As of a user that an administrator has just made. */
export const unsetPassword = (host: Host, username: string): Promise<void> =>
  writeRow(host, 'UPDATE users SET password_hash = NULL WHERE username = ?', [username]);

/** What is kept of a user's password. */
export async function passwordHash(host: Host, username: string): Promise<string> {
  const db = await host.openDb();
  const [row] = await db.query('SELECT password_hash FROM users WHERE username = ?', [username]);
  await db.close();
  return String(row?.password_hash);
}
