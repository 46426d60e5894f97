/**
 * The embedded database: libSQL in this process, on a file or in memory. Node only; the Worker must not
 * import it. Calls are synchronous inside, so nothing runs between the statements of a batch.
 */
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import Database from 'libsql';
import {
  type Argument,
  bound,
  closedError,
  DatabaseError,
  type Db,
  errorKind,
  type Row,
  type Statement,
  type Value,
} from './db.ts';
import { columnsOf, StatementCache } from './statement-cache.ts';

export interface EmbeddedOptions {
  /**
   * How long opening waits while another process writes, and each call, but no call for more than a second.
   * This process goes on meanwhile.
   */
  busyTimeoutMs?: number;
  /** Number of cached prepared statements; must exceed the number of SQL texts in the store. */
  cachedStatements?: number;
  /**
   * Opens a file that must exist, and neither creates nor changes anything in its folder that it can do
   * without.
   */
  isReadOnly?: boolean;
}

/**
 * Opens `file:<path>` (absolute, relative, or `file:///`) or `:memory:`. A missing file and its folder are
 * created, readable by this user only. A database in memory is lost at `close`. Rejects with DatabaseError.
 */
export async function openEmbedded(url: string, options: EmbeddedOptions = {}): Promise<Db> {
  const { busyTimeoutMs = 15_000, cachedStatements = 256, isReadOnly = false } = options;
  const path = pathOf(url);
  const open = isReadOnly ? connectToRead : connect;
  try {
    const connection = await open(path, busyTimeoutMs);
    return new EmbeddedDb(connection, cachedStatements, { busyTimeoutMs, isReadOnly });
  } catch (error) {
    throw new DatabaseError('unavailable', `can't open the database ${path}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

class EmbeddedDb implements Db {
  readonly #connection: Database.Database;
  readonly #prepared: StatementCache;
  readonly #waitMs: number;
  readonly #isReadOnly: boolean;
  #closed = false;

  constructor(
    connection: Database.Database,
    cachedStatements: number,
    { busyTimeoutMs, isReadOnly }: { busyTimeoutMs: number; isReadOnly: boolean },
  ) {
    this.#connection = connection;
    this.#waitMs = Math.min(busyTimeoutMs, MAX_WAIT_MS);
    this.#isReadOnly = isReadOnly;
    this.#prepared = new StatementCache(connection, cachedStatements);
  }

  async query(sql: string, args: readonly Argument[] = []): Promise<Row[]> {
    return this.#guarded(() => {
      const prepared = this.#prepared.get(sql, args.length);
      const { statement } = prepared;
      const values = args.map(bound);
      // The driver reads rows in batches of 100, which for a single row doubles the cost.
      const rows = (sql.endsWith('LIMIT 1') ? [statement.get(values)] : statement.all(values)) as Value[][];
      // A migration may have added columns since the statement was prepared.
      if (rows[0] && rows[0].length !== prepared.columns.length) prepared.columns = columnsOf(statement);
      return rows.flatMap((row) => (row === undefined ? [] : [rowOf(prepared.columns, row)]));
    });
  }

  async batch(statements: readonly Statement[]): Promise<number[]> {
    return this.#transaction(statements, (statement) => this.#execute(statement));
  }

  async batchRows(statements: readonly Statement[]): Promise<Row[][]> {
    return this.#transaction(statements, (statement) => this.#rowsOf(statement));
  }

  #transaction<T>(statements: readonly Statement[], execute: (statement: Statement) => T): Promise<T[]> {
    return this.#guarded(() => {
      if (statements.length === 0) return [];
      this.#connection.exec('BEGIN IMMEDIATE');
      try {
        const results = statements.map(execute);
        this.#connection.exec('COMMIT');
        return results;
      } finally {
        // A statement or the commit failed. After some failures SQLite has already rolled back.
        if (this.#connection.inTransaction) this.#connection.exec('ROLLBACK');
      }
    });
  }

  async shrink(maxPages: number): Promise<number> {
    return this.#guarded(() => {
      const pragma = (name: string) =>
        Number((this.#prepared.get(`PRAGMA ${name}`, 0).statement.get([]) as Value[])[0]);
      if (pragma('auto_vacuum') !== INCREMENTAL) return 0;
      const unused = pragma('freelist_count');
      const spare = Math.floor(pragma('page_count') / SPARE_PART);
      const pages = Math.min(maxPages, unused - spare);
      // A few pages are not worth a commit.
      if (pages < Math.min(maxPages, MIN_FREED_PAGES)) return 0;
      this.#connection.exec(`PRAGMA incremental_vacuum(${pages})`);
      return unused - pragma('freelist_count');
    });
  }

  isLocked(): boolean {
    if (this.#closed) return false;
    try {
      this.#connection.exec('BEGIN IMMEDIATE');
    } catch (error) {
      return codeOf(error).startsWith('SQLITE_BUSY');
    }
    this.#connection.exec('ROLLBACK');
    return false;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    // The driver closes the file once its statements are collected, which may be never: the log is emptied
    // now.
    if (!this.#isReadOnly) this.#emptyLog();
    this.#prepared.clear();
    this.#connection.close();
  }

  /**
   * Moves the write-ahead log into the file (H772). Without space, or beside a reader, the log stays valid.
   */
  #emptyLog(): void {
    try {
      this.#connection.exec('PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // Every commit is in the log, which the next open applies.
    }
  }

  #rowsOf({ sql, args }: Statement): Row[] {
    const { statement, columns } = this.#prepared.get(sql, args.length);
    const values = args.map(bound);
    if (columns.length > 0) return (statement.all(values) as Value[][]).map((row) => rowOf(columns, row));
    statement.run(values);
    return [];
  }

  #execute({ sql, args }: Statement): number {
    const { statement, columns } = this.#prepared.get(sql, args.length);
    const values = args.map(bound);
    if (columns.length === 0) return statement.run(values).changes;
    // A statement with rows (RETURNING) reports no changes, and must be read to its end before anything can
    // commit.
    const before = this.#totalChanges();
    const rows = statement.all(values);
    return this.#totalChanges() === before ? 0 : rows.length;
  }

  #totalChanges(): Value | undefined {
    const [total] = this.#prepared.get('SELECT total_changes()', 0).statement.get([]) as Value[];
    return total;
  }

  /** An action that finds another process writing has changed nothing, and is tried again. */
  async #guarded<T>(action: () => T): Promise<T> {
    const untilMs = performance.now() + this.#waitMs;
    for (;;) {
      if (this.#closed) throw closedError();
      try {
        return action();
      } catch (error) {
        if (error instanceof DatabaseError) throw error;
        const isLocked = codeOf(error).startsWith('SQLITE_BUSY');
        if (!isLocked || performance.now() >= untilMs)
          throw new DatabaseError(errorKind(codeOf(error)), messageOf(error), { cause: error, isLocked });
      }
      await delay(RETRY_MS);
    }
  }
}

function rowOf(columns: readonly string[], values: readonly Value[]): Row {
  const row: Row = {};
  for (let index = 0; index < columns.length; index++) row[columns[index] ?? ''] = values[index] ?? null;
  return row;
}

function pathOf(url: string): string {
  if (url === MEMORY || url === `file:${MEMORY}`) return MEMORY;
  try {
    if (url.startsWith('file:') && !/[?#]/.test(url))
      return fileURLToPath(new URL(url, pathToFileURL('./')).href);
  } catch {
    // Refused below.
  }
  throw new DatabaseError('other', `an embedded database is ":memory:" or "file:<path>", not "${url}"`);
}

/**
 * The engine would create the file with a mode that lets others read it, and reports no reason for a failure.
 */
function createFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
}

async function connect(path: string, busyTimeoutMs: number): Promise<Database.Database> {
  if (path !== MEMORY) createFile(path);
  // The driver's own wait would block this process.
  const connection = new Database(path, { timeout: 0 });
  try {
    await configure(connection, busyTimeoutMs);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * A copy that this connection writes can give pages back (C245). Reading this fails where the files that
 * readers share can't be created.
 */
async function connectToRead(path: string, busyTimeoutMs: number): Promise<Database.Database> {
  const connection = new Database(`${pathToFileURL(path).href}?mode=ro`, { timeout: busyTimeoutMs });
  try {
    const [mode] = connection.prepare('PRAGMA auto_vacuum').raw(true).get([]) as Value[];
    if (Number(mode) !== INCREMENTAL) connection.exec('PRAGMA auto_vacuum = INCREMENTAL');
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * FULL: acknowledged commits survive a power cut (STORE-5). Foreign keys are a setting of each connection.
 * The switch to WAL happens once per file, and does not wait for other processes as statements do.
 */
async function configure(connection: Database.Database, busyTimeoutMs: number): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
    try {
      // Takes effect in a new file. Another one gets it by VACUUM or a copy (STORE-23).
      connection.exec('PRAGMA auto_vacuum = INCREMENTAL');
      connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
      // Limits the log to 32 MB before a checkpoint: an eighth more commits per second than with SQLite's 4
      // MB.
      connection.exec('PRAGMA wal_autocheckpoint = 8000');
      connection.exec('BEGIN IMMEDIATE; ROLLBACK');
      return;
    } catch (error) {
      if (codeOf(error) !== 'SQLITE_BUSY' || waitedMs >= busyTimeoutMs) throw error;
      await delay(RETRY_MS);
    }
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const MEMORY = ':memory:';
/** The value of `PRAGMA auto_vacuum` for a file that can give pages back in steps. */
const INCREMENTAL = 2;
/** The part of the file that stays for later rows. */
const SPARE_PART = 20;
const MIN_FREED_PAGES = 64;
const RETRY_MS = 20;
/** How long a call waits while another process writes. */
const MAX_WAIT_MS = 1_000;
