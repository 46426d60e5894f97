/** Owns users for tests of either group of the API, and what becomes of them behind the control plane's back. */
import { hashPassword } from '../../control-plane/operations/passwords.ts';
import type { Value } from '../../control-plane/store/db.ts';
import { AccountClient, ROLE } from './account-client.ts';
import type { Host } from './hosts.ts';

export type RoleName = 'admin' | 'superuser' | 'user';

/**
 * Makes an enabled user: by the API, or, in group A, which has no users there, as a row, for which the host is restarted:
 * connections of agents end.
 */
export async function addUser(host: Host, username: string, password: string, role: RoleName): Promise<void> {
  if (host.variant === 'B') {
    await new AccountClient(() => host).addUser(username, { role_id: ROLE[role] }, password);
    return;
  }
  const hash = await hashPassword(password);
  await write(
    host,
    `INSERT INTO users (username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled, password_hash)
      SELECT ?, '', r.id, q.id, 'internal', 1001, 0, 1, ? FROM roles r, quotas q WHERE r.name = ? AND q.name = 'default'`,
    [username, hash, role],
  );
  // The coordinator is to know all users.
  await host.crash();
  await host.start();
}

/** Switches a user off or on, which ends what was proved of the user before, as any change of a user does. */
export const enableUser = (host: Host, username: string, enabled: boolean): Promise<void> =>
  write(
    host,
    'UPDATE users SET enabled = ?, credential_version = credential_version + 1 WHERE username = ?',
    [Number(enabled), username],
  );

/** Takes the right to use the API from a role, or gives it back. */
export const allowApi = (host: Host, role: RoleName, allowed: boolean): Promise<void> =>
  write(host, 'UPDATE roles SET can_access_api = ? WHERE name = ?', [Number(allowed), role]);

/** Lets the sessions of a user be over. */
export const expireSessions = (host: Host, username: string): Promise<void> =>
  write(
    host,
    'UPDATE sessions SET expires_ms = 1 WHERE user_id = (SELECT id FROM users WHERE username = ?)',
    [username],
  );

async function write(host: Host, sql: string, args: readonly Value[]): Promise<void> {
  const db = await host.openDb();
  try {
    const [affected] = await db.batch([{ sql, args }]);
    if (affected !== 1) throw new Error(`${affected} rows changed by ${sql}`);
  } finally {
    await db.close();
  }
}
