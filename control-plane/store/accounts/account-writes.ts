/** Owns what the rows of users, roles and quotas have in common: reading them in pages, and values that may be left out. */
import { DatabaseError, type Db, type Row, type Statement, type Value } from '../db/db.ts';

const PAGE_ROWS = 1_000;

/** How a write ended that the data may refuse. */
export type WriteOutcome =
  | { done: true; id: number }
  | { done: false; why: 'taken' | 'refers-to-nothing' | 'refused' };

/**
 * All rows of a query, ascending by id. `sql` asks for ids above its first parameter, ordered by id, and ends in
 * `LIMIT ?`; a libSQL server refuses an answer above 10 MB.
 */
export async function allRows(db: Db, sql: string, args: readonly Value[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (;;) {
    const page = await db.query(sql, [Number(rows.at(-1)?.id ?? 0), ...args, PAGE_ROWS]);
    rows.push(...page);
    if (page.length < PAGE_ROWS) return rows;
  }
}

/** Runs one write that ends in `RETURNING id`. No row means that its own conditions refused it. */
export const write = (db: Db, { sql, args }: Statement): Promise<WriteOutcome> =>
  outcomeOfWrite(async () => (await db.query(sql, args)).map(({ id }) => Number(id))[0]);

/** How a write ended that resolves to the id of what it wrote, or to undefined where its own conditions refused it. */
export async function outcomeOfWrite(run: () => Promise<number | undefined>): Promise<WriteOutcome> {
  try {
    const id = await run();
    return id === undefined ? { done: false, why: 'refused' } : { done: true, id };
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.kind !== 'constraint') throw error;
    if (error.message.includes('UNIQUE')) return { done: false, why: 'taken' };
    if (error.message.includes('FOREIGN KEY')) return { done: false, why: 'refers-to-nothing' };
    throw error;
  }
}

/** A value as a parameter; null where it was left out, for `COALESCE(?, column)`. */
export const given = (value: string | number | boolean | undefined): Value =>
  typeof value === 'boolean' ? Number(value) : (value ?? null);
