/**
 * The database port: the operations that the control plane needs from libSQL, and the rules that all adapters
 * share (values, kinds of error). Contains no driver and no tables.
 */

/** Booleans are 0 or 1, JSON is text, and integers must be within 2^53. Blobs are not supported. */
export type Value = string | number | null;
export type Row = Record<string, Value>;
/** Bytes of UTF-8 become text by `CAST(? AS TEXT)`: the way to write long texts to a remote database. */
export type Argument = Value | Uint8Array;

/** One statement, with one plain `?` for each of `args`. */
export interface Statement {
  sql: string;
  args: readonly Argument[];
}

/** Every method rejects with DatabaseError and no other error. */
export interface Db {
  /** Runs one statement in its own transaction, and resolves to its rows. */
  query(sql: string, args?: readonly Argument[]): Promise<Row[]>;
  /**
   * Runs the statements in order in one write transaction, all or none. Resolves after the commit to the
   * number of rows that each statement affected. There are no interactive transactions: conditions must be in
   * the statements (STORE-1).
   */
  batch(statements: readonly Statement[]): Promise<number[]>;
  /** The same, and resolves to the rows that each statement returned (RETURNING, SELECT). */
  batchRows(statements: readonly Statement[]): Promise<Row[][]>;
  /**
   * Runs reads in one request to a server, and resolves to the rows of each. If one of them fails, all fail.
   * Absent where a read alone costs no round trip.
   */
  readTogether?(reads: readonly Statement[]): Promise<Row[][]>;
  /**
   * Gives up to that many unused pages of the file back to the file system, and resolves to their number. A
   * twentieth of the file stays for later rows. Absent on a server, which uses such pages again.
   */
  shrink?(maxPages: number): Promise<number>;
  /**
   * Whether another process holds the write lock, so that a batch would wait. Absent on a server, which
   * orders its writers.
   */
  isLocked?(): boolean;
  /** Waits for pending calls and refuses later ones. May be called twice. */
  close(): Promise<void>;
}

/**
 * - `constraint`: the data violate a constraint, which the message names (`UNIQUE constraint failed:
 *   users.name`).
 * - `unavailable`: unreachable, too slow, busy or without space. The same call may succeed later. A batch
 *   that failed so may have been committed: read again before any decision.
 * - `other`: an invalid call; a retry cannot succeed.
 */
export type DatabaseErrorKind = 'constraint' | 'unavailable' | 'other';

export class DatabaseError extends Error {
  override name = 'DatabaseError';
  readonly kind: DatabaseErrorKind;
  /** True if another process held the write lock, so that the call has changed nothing. */
  readonly isLocked: boolean;

  constructor(kind: DatabaseErrorKind, message: string, options?: ErrorOptions & { isLocked?: boolean }) {
    super(message, options);
    this.kind = kind;
    this.isLocked = options?.isLocked ?? false;
  }
}

/** For the client of a change that such a lock has refused. */
export const LOCKED = 'Another program is writing to the database. Try again once it is done.';

/** The kind of an error code of SQLite (plain or extended) or of the libSQL server. */
export function errorKind(code: string): DatabaseErrorKind {
  if (code.startsWith('SQLITE_CONSTRAINT')) return 'constraint';
  return PASSING.test(code) ? 'unavailable' : 'other';
}

/**
 * The value in the form that drivers bind. Integers become bigint, because drivers bind every number as a
 * real. NUL and lone surrogates become U+FFFD, for storing and for searching: the embedded engine truncates
 * text at NUL, and the server refuses lone surrogates.
 */
export function bound(value: Argument): string | number | bigint | Uint8Array | null {
  if (value === null || value instanceof Uint8Array) return value;
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\0', '\uFFFD');
  if (Number.isSafeInteger(value)) return BigInt(value);
  if (Number.isFinite(value) && !Number.isInteger(value)) return value;
  // The types exclude all other values. The embedded driver would end the process on a boolean, and store NaN
  // as null.
  throw new DatabaseError('other', `the database can't hold ${typeof value} ${String(value).slice(0, 40)}`);
}

export const closedError = () => new DatabaseError('other', 'the database is closed');

const PASSING = /^(SQLITE_(BUSY|LOCKED|IOERR|FULL|CANTOPEN|NOMEM)|TRANSACTION_(BUSY|TIMEOUT)|STREAM_EXPIRED)/;
