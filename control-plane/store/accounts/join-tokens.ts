/** Rows of join tokens (hashes only), and of the keys with which hosts were registered. */
import type { StoredJoinToken } from '../../core/accounts/account-input.ts';
import type { JoinToken, RegistrationRecords } from '../../core/hosts/registration.ts';
import type { Host } from '../../core/model/host.ts';
import { Columns, json, number, numberOrNull, orNull, text } from '../db/columns.ts';
import type { Db, Row, Statement } from '../db/db.ts';

const columns = new Columns({ name: orNull(text), labels: json<readonly string[]>(), expiresMs: number });

export const expireJoinTokens = (nowMs: number): Statement => ({
  sql: 'DELETE FROM join_tokens WHERE expires_ms <= ?',
  args: [nowMs],
});

export const insertJoinToken = (token: StoredJoinToken): Statement => ({
  sql: `INSERT INTO join_tokens (hash, ${columns.names}) VALUES (?, ${columns.marks}) ON CONFLICT DO NOTHING`,
  args: [token.hash, ...columns.values(token)],
});

/** Deletes expired tokens, and inserts the new one. */
export const joinTokenStatements = (token: StoredJoinToken, nowMs: number): Statement[] => [
  expireJoinTokens(nowMs),
  insertJoinToken(token),
];

/** The records that decide about a registration: the token, used or not, and the host that holds the key. */
export async function findRegistrationRecords(
  db: Db,
  tokenHash: string,
  publicKey: string,
): Promise<RegistrationRecords> {
  const [token, [holder]] = await Promise.all([
    findJoinToken(db, tokenHash),
    db.query('SELECT id, removed_ms FROM hosts WHERE public_key = ? LIMIT 1', [publicKey]),
  ]);
  return {
    token,
    holder: holder && { id: Number(holder.id), removed: holder.removed_ms !== null },
  };
}

export async function findJoinToken(db: Db, hash: string): Promise<JoinToken | undefined> {
  const [row] = await db.query('SELECT * FROM join_tokens WHERE hash = ? LIMIT 1', [hash]);
  return row && tokenOf(row);
}

/** The public key of a host; undefined if it has none. */
export async function findHostKey(
  db: Db,
  hostId: number,
): Promise<{ publicKey: string; removed: boolean } | undefined> {
  const [row] = await db.query('SELECT public_key, removed_ms FROM hosts WHERE id = ? LIMIT 1', [hostId]);
  if (!row || row.public_key === null) return undefined;
  return { publicKey: String(row.public_key), removed: row.removed_ms !== null };
}

export const useJoinToken = ([hash, { id }]: [string, Host]): Statement => ({
  sql: 'UPDATE join_tokens SET host_id = ? WHERE hash = ?',
  args: [id, hash],
});

const tokenOf = (row: Row): JoinToken => ({
  ...columns.read(row),
  hostId: numberOrNull(row.host_id),
});
