/** Rows of the secrets and files of users and of all. Values are encrypted before they come here (ACC-18). */
import type { StoredCredentials } from '../../core/accounts/registry-credentials.ts';
import type {
  NewSecret,
  Sealed,
  Secret,
  SecretKind,
  SecretName,
  SecretPlace,
  SecretTerms,
  StoredKind,
} from '../../core/accounts/secret.ts';
import type { SecretStock } from '../../core/metrics/secret-counts.ts';
import { Columns, number, oneOf, orNull, text } from '../db/columns.ts';
import type { Db, Row, Statement } from '../db/db.ts';
import { allRows } from './account-writes.ts';

const place = new Columns<SecretPlace>({ kind: oneOf<StoredKind>(), userId: orNull(number), name: text });
const about = new Columns({ keyId: text, bytes: number, setMs: number });

export interface SealedSecret extends SecretPlace {
  id: number;
  sealed: Sealed;
}

/**
 * Stores the value in place of an earlier one of the same name, and runs `audit` in the same transaction.
 * Resolves to false beyond the limit, and if the user is gone or may no longer set values of all.
 */
export async function writeSecret(
  db: Db,
  secret: NewSecret,
  terms: SecretTerms,
  audit: Statement,
): Promise<boolean> {
  const [written] = await db.batch([insertSecret(secret, terms), audit]);
  return written === 1;
}

/** Writes no row beyond the limit, and if the user is gone. */
export function insertSecret(
  { kind, userId, name, sealed, bytes }: NewSecret,
  { maxPerUser, setMs, byUserId }: SecretTerms,
): Statement {
  const sql = `INSERT INTO user_secrets (${place.names}, ${about.names}, sealed)
    SELECT ${place.marks}, ${about.marks}, ?
    WHERE EXISTS (SELECT 1 FROM users u JOIN roles r ON r.id = u.role_id
        WHERE u.id = ? AND u.enabled = 1 AND u.deleted = 0 AND (? IS NOT NULL OR r.can_change_config = 1))
      AND ((SELECT count(*) FROM user_secrets WHERE user_id IS ?) < ?
        OR EXISTS (SELECT 1 FROM user_secrets WHERE user_id IS ? AND kind = ? AND name = ?))
    ON CONFLICT (ifnull(user_id, 0), kind, name) DO UPDATE
      SET key_id = excluded.key_id, sealed = excluded.sealed, bytes = excluded.bytes,
        set_ms = max(excluded.set_ms, set_ms + 1)`;
  const args = [
    ...place.values({ kind, userId, name }),
    ...about.values({ keyId: sealed.keyId, bytes, setMs }),
    sealed.text,
    byUserId,
    userId,
    userId,
    maxPerUser,
    userId,
    kind,
    name,
  ];
  return { sql, args };
}

export const LISTED = `id, ${place.names}, ${about.names}`;

/** Reads an index only: a value may have 350,000 characters (H632). */
export const LIST = `SELECT ${LISTED}, 0 AS common FROM user_secrets WHERE user_id = ? AND kind = ?
  UNION ALL SELECT ${LISTED}, 1 FROM user_secrets WHERE user_id IS NULL AND kind = ?
  ORDER BY name, common`;

/** The user's own and those of all, by name. BERTH_LIMITS.secretsPerUser bounds both. */
export async function listSecrets(db: Db, kind: StoredKind, userId: number): Promise<Secret[]> {
  return (await db.query(LIST, [userId, kind, kind])).map(secretOf);
}

export async function findSecret(db: Db, kind: StoredKind, id: number): Promise<Secret | undefined> {
  const [row] = await db.query(`SELECT ${LISTED} FROM user_secrets WHERE id = ? AND kind = ? LIMIT 1`, [
    id,
    kind,
  ]);
  return row && secretOf(row);
}

/** The id of a name; undefined if there is none. */
export async function findSecretId(db: Db, { kind, userId, name }: SecretPlace): Promise<number | undefined> {
  const sql = 'SELECT id FROM user_secrets WHERE user_id IS ? AND kind = ? AND name = ? LIMIT 1';
  const [row] = await db.query(sql, [userId, kind, name]);
  return row && Number(row.id);
}

/** Runs `audit` in the same transaction. Resolves to false if there is no such secret. */
export async function deleteSecret(db: Db, id: number, audit: Statement): Promise<boolean> {
  const [deleted] = await db.batch([removalOfSecret(id), audit]);
  return deleted === 1;
}

export const removalOfSecret = (id: number): Statement => ({
  sql: 'DELETE FROM user_secrets WHERE id = ?',
  args: [id],
});

/** All credentials of registries, without their values. */
export async function loadCredentials(db: Db): Promise<StoredCredentials[]> {
  const sql = `SELECT ${LISTED} FROM user_secrets WHERE kind = 'registry' AND id > ? ORDER BY id LIMIT ?`;
  return (await allRows(db, sql, [])).map((row) => credentialsOf(secretOf(row)));
}

export const credentialsOf = ({ id, userId, name, setMs }: Secret): StoredCredentials => ({
  id,
  userId,
  setMs,
  registry: name,
});

/** The credentials of a registry that a user's pull uses: the user's own, or else those of all. */
export async function findCredentials(
  db: Db,
  userId: number,
  registry: string,
): Promise<(SealedSecret & { setMs: number }) | undefined> {
  const sql = `SELECT ${LISTED}, sealed FROM user_secrets
    WHERE kind = 'registry' AND name = ? AND (user_id = ? OR user_id IS NULL)
    ORDER BY user_id IS NULL LIMIT 1`;
  const [row] = await db.query(sql, [registry, userId]);
  return row && { ...sealedOf(row), setMs: Number(row.set_ms) };
}

/** What a user's description means by these names, without values: the user's own, or else the one of all. */
export async function findSecretKeys(
  db: Db,
  userId: number,
  names: readonly SecretName[],
): Promise<(SecretName & { keyId: string })[]> {
  const sql = `SELECT kind, name, key_id FROM (${BY_NAMES})`;
  const rows = await db.query(sql, [JSON.stringify(names), userId]);
  return rows.map((row) => ({ ...nameOf(row), keyId: String(row.key_id) }));
}

/**
 * The same with the encrypted values, which are all empty if the values have more than `maxBytes` together:
 * they are then not even read.
 */
export async function findSealedSecrets(
  db: Db,
  userId: number,
  names: readonly SecretName[],
  maxBytes: number,
): Promise<(SealedSecret & SecretName & { bytes: number })[]> {
  const sql = `WITH found AS (${BY_NAMES})
    SELECT id, kind, user_id, name, key_id, bytes,
      CASE WHEN (SELECT sum(bytes) FROM found) <= ?
        THEN (SELECT sealed FROM user_secrets s WHERE s.id = found.id) ELSE '' END AS sealed
    FROM found`;
  const rows = await db.query(sql, [JSON.stringify(names), userId, maxBytes]);
  return rows.map((row) => ({ ...sealedOf(row), ...nameOf(row), bytes: Number(row.bytes) }));
}

/** By names: the user's own, or else the one of all. */
const BY_NAMES = `SELECT u.id, u.kind, u.user_id, u.name, u.key_id, u.bytes
  FROM (SELECT DISTINCT value ->> 'kind' AS kind, value ->> 'name' AS name FROM json_each(?)) n
    CROSS JOIN (SELECT ? AS user_id) o
    JOIN user_secrets u ON u.id = ifnull(
      (SELECT id FROM user_secrets WHERE ifnull(user_id, 0) = o.user_id AND kind = n.kind AND name = n.name),
      (SELECT id FROM user_secrets WHERE ifnull(user_id, 0) = 0 AND kind = n.kind AND name = n.name))`;

/** Some values of other keys than `keyId` that are encrypted with one of `others`, from the id on, by id. */
export async function listOutdated(
  db: Db,
  terms: { keyId: string; others: readonly string[]; afterId: number; limit: number },
): Promise<SealedSecret[]> {
  const { keyId, others, afterId, limit } = terms;
  const sql = `SELECT id, kind, user_id, name, key_id, sealed FROM user_secrets
    WHERE id > ? AND key_id <> ? AND key_id IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?`;
  return (await db.query(sql, [afterId, keyId, JSON.stringify(others), limit])).map(sealedOf);
}

export async function countSecrets(db: Db, userId: number | null): Promise<number> {
  const [row] = await db.query('SELECT count(*) AS n FROM user_secrets WHERE user_id IS ?', [userId]);
  return Number(row?.n ?? 0);
}

/** What is stored. Reads an index, and no value. */
export async function readStock(db: Db): Promise<SecretStock> {
  const rows = await db.query(`SELECT kind, count(*) AS n, sum(bytes) AS bytes,
    (SELECT max(n) FROM (SELECT count(*) AS n FROM user_secrets GROUP BY user_id)) AS most
    FROM user_secrets GROUP BY kind`);
  const of = (kind: SecretKind) => {
    const row = rows.find((one) => one.kind === kind);
    return { values: Number(row?.n ?? 0), bytes: Number(row?.bytes ?? 0) };
  };
  return { secret: of('secret'), file: of('file'), mostOfOwner: Number(rows[0]?.most ?? 0) };
}

/** Numbers of values that are encrypted with another key than `keyId`, by key. */
export async function countOutdated(db: Db, keyId: string): Promise<{ keyId: string; secrets: number }[]> {
  const sql = 'SELECT key_id, count(*) AS n FROM user_secrets WHERE key_id <> ? GROUP BY key_id';
  return (await db.query(sql, [keyId])).map((row) => ({ keyId: String(row.key_id), secrets: Number(row.n) }));
}

/** Replaces an encrypted value, unless it has changed since it was read. */
export const resealed = ({ id, sealed }: SealedSecret, { keyId, text }: Sealed): Statement => ({
  sql: 'UPDATE user_secrets SET key_id = ?, sealed = ? WHERE id = ? AND sealed = ?',
  args: [keyId, text, id, sealed.text],
});

const nameOf = (row: Row): SecretName => ({ kind: String(row.kind) as SecretKind, name: String(row.name) });

export const secretOf = (row: Row): Secret => ({
  ...place.read(row),
  ...about.read(row),
  id: Number(row.id),
});

const sealedOf = (row: Row): SealedSecret => ({
  ...place.read(row),
  id: Number(row.id),
  sealed: { keyId: String(row.key_id), text: String(row.sealed) },
});
