/**
 * Owns the prepared statements of the embedded database, and refuses what the driver would let pass. Never runs one.
 */
import type Database from 'libsql';
import { DatabaseError } from './db.ts';

export interface Prepared {
  statement: Database.Statement;
  parameters: number;
  /** Names of what its rows hold, in order; empty where it gives no rows. Rows come as arrays: objects cost the driver twice as much. */
  columns: readonly string[];
}

/** Keeps the statements used last, by their text: preparing one costs more than running it. */
export class StatementCache {
  readonly #connection: Database.Database;
  readonly #capacity: number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Prepared>();

  constructor(connection: Database.Database, capacity: number) {
    this.#connection = connection;
    this.#capacity = capacity;
  }

  /** The statement of `sql`, for as many values as it has parameters. Throws DatabaseError or the driver's own. */
  get(sql: string, valueCount: number): Prepared {
    const entry = this.#entries.get(sql) ?? this.#prepare(sql);
    this.#entries.delete(sql);
    this.#entries.set(sql, entry);
    if (this.#entries.size > this.#capacity) this.#dropOldest();
    if (entry.parameters === valueCount) return entry;
    throw new DatabaseError('other', `${valueCount} values for ${entry.parameters} parameters in: ${sql}`);
  }

  clear(): void {
    this.#entries.clear();
  }

  #prepare(sql: string): Prepared {
    const parameters = parameterCount(sql);
    const statement = this.#connection.prepare(sql);
    if (!statement.reader) return { statement, parameters, columns: [] };
    return {
      statement: statement.raw(true),
      parameters,
      columns: columnsOf(statement),
    };
  }

  #dropOldest(): void {
    const oldest = this.#entries.keys().next().value;
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}

export const columnsOf = (statement: Database.Statement): string[] =>
  statement.columns().map(({ name }) => name);

/**
 * How many `?` one statement has. The driver binds NULL for a value that is missing, ignores one too many, and drops
 * a second statement; the server refuses all three, and so does this.
 */
function parameterCount(sql: string): number {
  const bare = sql.replace(QUOTED_OR_COMMENT, ' ');
  if (/;\s*\S/.test(bare) && !/^\s*CREATE\s+(TEMP\w*\s+)?TRIGGER\b/i.test(bare)) {
    throw new DatabaseError('other', `more than one statement in: ${sql}`);
  }
  return bare.split('?').length - 1;
}

const QUOTED_OR_COMMENT = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\//g;
