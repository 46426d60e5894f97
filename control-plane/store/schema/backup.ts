/** Owns what is asked of a database that is copied or restored: consistent copies, checks, and what must be so before a copy is used again. */
import { DatabaseError, type Db } from '../db/db.ts';
import { insertUnknown, raiseIds } from './id-sequences.ts';
import { migrate } from './migrate.ts';
import { migrations } from './migrations.ts';

/**
 * Ids that may have been given after the copy was made: hosts that have not said hello yet may have containers of any of
 * them (SPEC.md H254).
 */
export const SKIPPED_IDS = 100_000;

/** Writes a copy of one moment to `path`, where nothing may be yet; whoever writes meanwhile is not held up. */
export async function copyTo(db: Db, path: string): Promise<void> {
  await db.query('VACUUM INTO ?', [path]);
}

/** What a copy holds, for people; rejects where it is no database of Berth, or is damaged. */
export async function inspect(db: Db): Promise<{ schema: number; executions: number }> {
  const [verdict] = await db.query('PRAGMA integrity_check');
  if (Object.values(verdict ?? {})[0] !== 'ok') throw new DatabaseError('other', 'the database is damaged');
  const tables = await db.query("SELECT name FROM sqlite_master WHERE type = 'table'");
  const names = new Set(tables.map(({ name }) => name));
  if (!names.has('schema_migrations') || !names.has('coordinator'))
    throw new DatabaseError('other', 'it is no database of Berth');
  const [schema] = await db.query('SELECT MAX(version) AS version FROM schema_migrations LIMIT 1');
  const [count] = await db.query('SELECT COUNT(*) AS executions FROM executions LIMIT 1');
  return { schema: Number(schema?.version), executions: Number(count?.executions) };
}

/**
 * Whether nobody else has the database open. Only then can it leave the write-ahead log, whose content is in the file
 * afterwards; the next to open it takes the log up again.
 */
export async function settle(db: Db): Promise<boolean> {
  try {
    const [row] = await db.query('PRAGMA journal_mode = DELETE');
    return row?.journal_mode === 'delete';
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === 'unavailable') return false;
    throw error;
  }
}

interface AssignedIds {
  epoch: number;
  execution: number;
  service: number;
}

/** The highest epoch and ids that a database has given. */
export async function assignedIds(db: Db): Promise<AssignedIds> {
  const [coordinator] = await db.query('SELECT epoch FROM coordinator LIMIT 1');
  const sequence = await db.query('SELECT name, seq FROM sqlite_sequence');
  const last = (table: string) => Number(sequence.find(({ name }) => name === table)?.seq ?? 0);
  return { epoch: Number(coordinator?.epoch), execution: last('executions'), service: last('services') };
}

/**
 * Makes a copy fit to take the place of `former`, where that can still be read. Ids of the time between are not given
 * again; nobody who was logged out since is logged in again.
 */
export async function prepareRestored(db: Db, former: AssignedIds | undefined): Promise<void> {
  await migrate(db, migrations);
  const own = await assignedIds(db);
  const last = (of: 'execution' | 'service') => Math.max(own[of] + SKIPPED_IDS, former?.[of] ?? 0);
  const epoch = Math.max(own.epoch, former?.epoch ?? 0) + 1;
  await db.batch([
    { sql: 'UPDATE coordinator SET epoch = ?, writer = ?, holder = NULL', args: [epoch, epoch] },
    insertUnknown({ first: own.service + 1, last: last('service') }),
    ...raiseIds({ execution: last('execution') + 1, service: last('service') + 1 }),
    { sql: 'DELETE FROM sessions', args: [] },
    { sql: 'DELETE FROM tokens', args: [] },
    // Silence that it counts may have ended since, and begun again: hosts get the whole time (SPEC.md C167).
    { sql: 'UPDATE hosts SET silent_since_ms = NULL', args: [] },
    // One that was used since would make another host.
    { sql: 'DELETE FROM join_tokens', args: [] },
  ]);
}
