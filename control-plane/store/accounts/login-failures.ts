/** Rows of failed logins. Each has cost a password hash and expires, and their number has a limit. */
import type { Failures } from '../../core/accounts/login-throttle.ts';
import type { Db, Statement } from '../db/db.ts';

/** Only keys with failures are in the result. */
export async function findFailures(db: Db, keys: readonly string[]): Promise<Map<string, Failures>> {
  const rows = await db.query(
    'SELECT bucket, failures, last_ms FROM login_failures WHERE bucket IN (SELECT value FROM json_each(?))',
    [JSON.stringify(keys)],
  );
  return new Map(
    rows.map((row) => [String(row.bucket), { count: Number(row.failures), lastMs: Number(row.last_ms) }]),
  );
}

/** With the three rows of each failure, a bound that only attacks from many networks reach. */
const MAX_ROWS = 100_000;

/**
 * Adds a failure to each key. Keys whose last failure was before `forgetMs` restart at one. `audit` runs in
 * the same transaction.
 */
export async function addFailure(
  db: Db,
  keys: readonly string[],
  { nowMs, forgetMs, maxRows = MAX_ROWS }: { nowMs: number; forgetMs: number; maxRows?: number },
  audit: readonly Statement[] = [],
): Promise<void> {
  await db.batch([
    ...audit,
    { sql: 'DELETE FROM login_failures WHERE last_ms < ?', args: [forgetMs] },
    {
      sql: `INSERT INTO login_failures (bucket, failures, last_ms) SELECT value, 1, ? FROM json_each(?) WHERE true
        ON CONFLICT (bucket) DO UPDATE SET failures = failures + 1, last_ms = excluded.last_ms`,
      args: [nowMs, JSON.stringify(keys)],
    },
    {
      // The fewest failures first: what an attacker adds must not displace the count of a guessed name.
      sql: `DELETE FROM login_failures WHERE bucket IN (SELECT bucket FROM login_failures
        ORDER BY failures, last_ms LIMIT max(0, (SELECT count(*) FROM login_failures) - ?))`,
      args: [maxRows],
    },
  ]);
}

export async function deleteFailures(db: Db, key: string): Promise<void> {
  await db.batch([{ sql: 'DELETE FROM login_failures WHERE bucket = ?', args: [key] }]);
}
