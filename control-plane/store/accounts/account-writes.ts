/**
 * Common parts of the rows of users, roles and quotas: reads in pages, optional values, and outcomes of
 * writes.
 */
import type { WriteOutcome } from '../../core/accounts/account-input.ts';
import { type Argument, DatabaseError, type Db, type Row, type Statement, type Value } from '../db/db.ts';

const PAGE_ROWS = 1_000;

/**
 * All rows of a query, ascending by id, read in pages: a libSQL server refuses a response above 10 MB. `sql`
 * must select ids above its first parameter, ordered by id, and end in `LIMIT ?`.
 */
export async function allRows(db: Db, sql: string, args: readonly Argument[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (;;) {
    const page = await db.query(sql, [Number(rows.at(-1)?.id ?? 0), ...args, PAGE_ROWS]);
    rows.push(...page);
    if (page.length < PAGE_ROWS) return rows;
  }
}

/**
 * Writes the row `id` by one statement, and runs the next one in the same transaction. If the first changes
 * no row, its conditions were not met.
 */
export async function writeOne(
  db: Db,
  id: number,
  next: Statement,
  statement: Statement,
): Promise<WriteOutcome> {
  try {
    const [written] = await db.batch([statement, next]);
    return written === 0 ? { done: false, why: 'refused' } : { done: true, id };
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.kind !== 'constraint') throw error;
    if (error.message.includes('UNIQUE')) return { done: false, why: 'taken' };
    if (error.message.includes('FOREIGN KEY')) return { done: false, why: 'refers-to-nothing' };
    throw error;
  }
}

/** The value as a parameter; null if undefined, for `COALESCE(?, column)`. */
export const given = (value: string | number | boolean | undefined): Value =>
  typeof value === 'boolean' ? Number(value) : (value ?? null);
