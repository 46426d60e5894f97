/**
 * Owns the database port: the few things the control plane asks of libSQL, and what every adapter agrees on
 * (values, kinds of error). Never opens anything, and knows no driver and no table.
 */

/** Booleans are 0 or 1, JSON is text, integers stay within 2^53. There are no blobs. */
export type Value = string | number | null;
export type Row = Record<string, Value>;

/** One statement; its parameters are plain `?`, one for each of `args`. */
export interface Statement {
  sql: string;
  args: readonly Value[];
}

/** Every method rejects with DatabaseError and with nothing else. */
export interface Db {
  /** Runs one statement, a transaction of its own, and resolves to its rows. */
  query(sql: string, args?: readonly Value[]): Promise<Row[]>;
  /**
   * All or nothing, in order, in one write transaction; resolves, once committed, to the rows each affected.
   * There is no interactive transaction: what must hold is in the statements themselves.
   */
  batch(statements: readonly Statement[]): Promise<number[]>;
  /** Waits for the calls under way and refuses later ones. Closing twice is allowed. */
  close(): Promise<void>;
}

/**
 * - `constraint`: the data refuse it; the message names the constraint (`UNIQUE constraint failed: users.name`).
 * - `unavailable`: unreachable, too slow, busy or out of room; the same call may succeed later. Whether a batch that
 *   failed so was committed is not known: read again before deciding anything.
 * - `other`: wrong in itself; trying again won't help.
 */
export type DatabaseErrorKind = 'constraint' | 'unavailable' | 'other';

export class DatabaseError extends Error {
  override name = 'DatabaseError';
  readonly kind: DatabaseErrorKind;

  constructor(kind: DatabaseErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** The kind of error behind a code of SQLite (plain or extended) or of the libSQL server. */
export function errorKind(code: string): DatabaseErrorKind {
  if (code.startsWith('SQLITE_CONSTRAINT')) return 'constraint';
  return PASSING.test(code) ? 'unavailable' : 'other';
}

/**
 * A value as a driver binds it. Integers go as bigint, because drivers bind every number as a real. Text can't carry
 * NUL (the embedded engine reads it back cut short) or lone surrogates (the server refuses them): U+FFFD takes their
 * place, for searching as for storing.
 */
export function bound(value: Value): string | number | bigint | null {
  if (value === null) return null;
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\0', '\uFFFD');
  if (Number.isSafeInteger(value)) return BigInt(value);
  if (Number.isFinite(value) && !Number.isInteger(value)) return value;
  // Types forbid the rest; the embedded driver would end the process on a boolean and store NaN as null.
  throw new DatabaseError('other', `the database can't hold ${typeof value} ${String(value).slice(0, 40)}`);
}

export const closedError = () => new DatabaseError('other', 'the database is closed');

const PASSING = /^(SQLITE_(BUSY|LOCKED|IOERR|FULL|CANTOPEN|NOMEM)|TRANSACTION_(BUSY|TIMEOUT)|STREAM_EXPIRED)/;
