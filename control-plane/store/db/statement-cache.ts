/**
 * Prepared statements of the embedded database. Refuses statements that the driver would accept in error;
 * never runs one.
 */
import type Database from 'libsql';
import { RecentMap } from '../../core/model/recent-map.ts';
import { DatabaseError } from './db.ts';

export interface Prepared {
  statement: Database.Statement;
  parameters: number;
  /**
   * Column names of the result, in order; empty for statements without rows. Rows arrive as arrays, since
   * objects cost the driver twice as much.
   */
  columns: readonly string[];
}

/** Caches the most recently used statements by text: preparing one costs more than running it. */
export class StatementCache {
  readonly #connection: Database.Database;
  /** In the order of last use. */
  readonly #entries: RecentMap<string, Prepared>;

  constructor(connection: Database.Database, capacity: number) {
    this.#connection = connection;
    this.#entries = new RecentMap(capacity);
  }

  /**
   * The prepared statement of `sql`. Throws DatabaseError unless it has `valueCount` parameters, or the
   * driver's error.
   */
  get(sql: string, valueCount: number): Prepared {
    const entry = this.#entries.get(sql) ?? this.#prepare(sql);
    this.#entries.set(sql, entry);
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
}

export const columnsOf = (statement: Database.Statement): string[] =>
  statement.columns().map(({ name }) => name);

/**
 * Number of `?` in one statement. The driver binds NULL for a missing value, ignores excess values, and drops
 * a second statement. The server refuses all three, and so does this cache.
 */
function parameterCount(sql: string): number {
  const bare = sql.replace(QUOTED_OR_COMMENT, ' ');
  if (/;\s*\S/.test(bare) && !/^\s*CREATE\s+(TEMP\w*\s+)?TRIGGER\b/i.test(bare)) {
    throw new DatabaseError('other', `more than one statement in: ${sql}`);
  }
  return bare.split('?').length - 1;
}

const QUOTED_OR_COMMENT = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\//g;
