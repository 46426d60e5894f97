/** Checks of a database, and the preparation of a copy for use (STORE-8, STORE-9). */
import { DatabaseError, type Db } from '../db/db.ts';
import { raiseIds, writeUnknown } from './id-sequences.ts';
import { migrate } from './migrate.ts';
import { migrations } from './migrations.ts';

/**
 * Ids that are skipped after a restore, because they may have been assigned since the copy was made. Hosts
 * that have not reconnected may have containers with these ids (SPEC.md H253).
 */
export const SKIPPED_IDS = 100_000;

export interface Contents {
  schema: number;
  executions: number;
}

/** Contents of a copy. Rejects if the database is damaged, or is not a Berth database. */
export async function inspect(db: Db): Promise<Contents> {
  const [verdict] = await db.query('PRAGMA integrity_check');
  if (Object.values(verdict ?? {})[0] !== 'ok') throw new DatabaseError('other', 'the database is damaged');
  const tables = await db.query("SELECT name FROM sqlite_master WHERE type = 'table'");
  const names = new Set(tables.map(({ name }) => name));
  if (!names.has('schema_migrations') || !names.has('coordinator'))
    throw new DatabaseError('other', 'it is not a Berth database');
  const [schema] = await db.query('SELECT MAX(version) AS version FROM schema_migrations LIMIT 1');
  const [count] = await db.query('SELECT COUNT(*) AS executions FROM executions LIMIT 1');
  return { schema: Number(schema?.version), executions: Number(count?.executions) };
}

/** Whether the database has no tables at all, as a new one. */
export async function isEmpty(db: Db): Promise<boolean> {
  return (await db.query('SELECT name FROM sqlite_master LIMIT 1')).length === 0;
}

/**
 * Moves the write-ahead log into the file. Resolves to false if another process has the database open, since
 * only the last one can leave WAL mode. The next open turns the log on again.
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

/** Numbers in file systems that users may have got since the backup. */
const SKIPPED_NUMBERS = 1_000;

interface AssignedIds {
  epoch: number;
  execution: number;
  service: number;
}

/** What users had that no other user may get. */
export interface GivenToUsers {
  /** The highest number in file systems. */
  fsUid: number;
  /** Names of the workspaces of users. */
  workspaces: string[];
}

/** The highest epoch and ids that a database has assigned. */
export async function assignedIds(db: Db): Promise<AssignedIds> {
  const [coordinator] = await db.query('SELECT epoch FROM coordinator LIMIT 1');
  const sequence = await db.query('SELECT name, seq FROM sqlite_sequence');
  const last = (table: string) => Number(sequence.find(({ name }) => name === table)?.seq ?? 0);
  return { epoch: Number(coordinator?.epoch), execution: last('executions'), service: last('services') };
}

/** Reads also a database that does not record it yet. */
export async function givenToUsers(db: Db): Promise<GivenToUsers> {
  const isRecorded = (await db.query(`SELECT 1 FROM sqlite_master WHERE name = 'fs_uids'`)).length > 0;
  const [numbers, names] = isRecorded
    ? ['fs_uids', 'SELECT name FROM workspaces']
    : ['users', 'SELECT username AS name FROM users WHERE deleted = 0'];
  const [row] = await db.query(`SELECT ifnull(max(fs_uid), 0) AS last FROM ${numbers}`);
  return { fsUid: Number(row?.last), workspaces: (await db.query(names)).map(({ name }) => String(name)) };
}

/**
 * Prepares a copy to replace `former`; undefined if that cannot be read. Ids that were assigned since the
 * backup are not assigned again. All sessions and tokens end.
 */
export async function prepareRestored(
  db: Db,
  former: AssignedIds | undefined,
  formerUsers?: GivenToUsers,
): Promise<void> {
  await migrate(db, migrations);
  const own = await assignedIds(db);
  const last = (of: 'execution' | 'service') => Math.max(own[of] + SKIPPED_IDS, former?.[of] ?? 0);
  const epoch = Math.max(own.epoch, former?.epoch ?? 0) + 1;
  await db.batch([
    { sql: 'UPDATE coordinator SET epoch = ?, writer = ?, holder = NULL', args: [epoch, epoch] },
    writeUnknown({ first: own.service + 1, last: last('service') }),
    // Users who were created since the backup have files, too.
    {
      sql: 'INSERT OR IGNORE INTO fs_uids (fs_uid, user_id) VALUES (?, 0)',
      args: [Math.max((await givenToUsers(db)).fsUid + SKIPPED_NUMBERS, formerUsers?.fsUid ?? 0)],
    },
    {
      sql: 'INSERT OR IGNORE INTO workspaces (name, user_id) SELECT value, 0 FROM json_each(?)',
      args: [JSON.stringify(formerUsers?.workspaces ?? [])],
    },
    ...raiseIds({ execution: last('execution') + 1, service: last('service') + 1 }),
    { sql: 'DELETE FROM sessions', args: [] },
    { sql: 'DELETE FROM tokens', args: [] },
    // One that was revoked since the backup would be valid again.
    { sql: 'DELETE FROM personal_tokens', args: [] },
    // The recorded silence may have ended since the copy was made, so every host gets the full time (SPEC.md
    // C167).
    { sql: 'UPDATE hosts SET silent_since_ms = NULL', args: [] },
    // A token that was used since the backup would register a second host.
    { sql: 'DELETE FROM join_tokens', args: [] },
  ]);
}
