/** Rows of what is over: ended executions that are due for removal, and whatever else has expired. */
import { forgottenMs } from '../../core/model/idempotency.ts';
import { expiredAudit } from '../accounts/audit.ts';
import type { Db, Row, Statement } from '../db/db.ts';
import { type Epoch, fence } from '../db/epoch.ts';
import { pagesOf } from '../db/pages.ts';

/** What the database records about the reviews of the history. */
export interface ReviewRecord {
  /** Days for which ended executions are kept unless a setting says otherwise; 0: for ever. */
  keepDays: number;
  /** When the last review of the history was complete; 0 if there was none. */
  reviewedMs: number;
}

export async function writeReviewed(db: Db, epoch: Epoch, reviewedMs: number): Promise<void> {
  await db.batch([
    fence(epoch),
    { sql: 'UPDATE coordinator SET reviewed_ms = ? WHERE true', args: [reviewedMs] },
  ]);
}

/** Position among the ended executions, in the order of their ends. */
export interface EndPosition {
  endMs: number;
  id: number;
}

/** Before every ended execution. */
export const FIRST_END: EndPosition = { endMs: -1, id: 0 };

/**
 * Ended executions after `position` that ended at `endMs` at the latest, oldest first: at most `limit`, with
 * about 1 MiB of descriptions.
 */
export async function listEnded(
  db: Db,
  position: EndPosition,
  { endMs, limit }: { endMs: number; limit: number },
): Promise<EndPosition[]> {
  const rows = await db.query(
    `SELECT id, time_end_ms, octet_length(description) AS bytes FROM executions INDEXED BY executions_by_end
      WHERE deleted = 0 AND time_end_ms IS NOT NULL AND status IN ('terminated', 'error')
      AND (time_end_ms, id) > (?, ?) AND time_end_ms <= ? ORDER BY time_end_ms, id LIMIT ?`,
    [position.endMs, position.id, endMs, limit],
  );
  const [page = []] = pagesOf(rows);
  return rows.slice(0, page.length).map(positionOf);
}

const positionOf = (row: Row): EndPosition => ({ endMs: Number(row.time_end_ms), id: Number(row.id) });

export interface Expiry {
  nowMs: number;
  /** Failed logins whose last failure was before this are forgotten. */
  forgetMs: number;
  /** Hosts that were removed until then go, unless a service refers to them; null: none. */
  removedMs: number | null;
  /** Rows of the audit log until then go; null: none. */
  auditMs: number | null;
  /** Rows of the audit log beyond this number go. */
  auditRows: number;
}

/** Numbers of rows. */
export interface Expired {
  sessions: number;
  tokens: number;
  loginFailures: number;
  joinTokens: number;
  idempotencyKeys: number;
  hosts: number;
  auditRows: number;
}

/** Removes what has expired, at most `limit` rows of each table. */
export async function removeExpired(db: Db, epoch: Epoch, expiry: Expiry, limit: number): Promise<Expired> {
  const { nowMs, forgetMs, removedMs } = expiry;
  const [
    ,
    sessions = 0,
    tokens = 0,
    loginFailures = 0,
    joinTokens = 0,
    idempotencyKeys = 0,
    hosts = 0,
    ...audit
  ] = await db.batch([
    fence(epoch),
    expired('sessions', 'token_hash', 'expires_ms <= ?', [nowMs, limit]),
    expired('tokens', 'id_hash', 'expires_ms <= ?', [nowMs, limit]),
    expired('login_failures', 'bucket', 'last_ms < ?', [forgetMs, limit]),
    expired('join_tokens', 'hash', 'expires_ms <= ?', [nowMs, limit]),
    expired('idempotency_keys', 'user_id, key', 'made_ms <= ?', [forgottenMs(nowMs), limit]),
    expired('hosts', 'id', UNUSED_HOST, [removedMs ?? -1, limit]),
    ...expiredAudit(expiry),
  ]);
  const auditRows = audit.reduce((sum, rows) => sum + rows, 0);
  return { sessions, tokens, loginFailures, joinTokens, idempotencyKeys, hosts, auditRows };
}

const UNUSED_HOST = `removed_ms <= ? AND NOT EXISTS (SELECT 1 FROM services
  WHERE services.host_id = hosts.id AND services.host_id IS NOT NULL)`;

/** Table, key and condition must be constants. */
const expired = (table: string, key: string, condition: string, args: Statement['args']): Statement => ({
  sql: `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${condition} LIMIT ?)`,
  args,
});
