/**
 * Rows about assigned ids: the sequences, the ranges that a restored database does not contain (STORE-9), and
 * the key and count of STORE-12.
 */
import type { IdRange } from '../../../shared/protocol/assignment.ts';
import type { NextIds } from '../../core/state/changes.ts';
import { DatabaseError, type Db, type Statement } from '../db/db.ts';

/** Ranges of service ids that were assigned, but are not in this database. */
export async function loadUnknown(db: Db): Promise<IdRange[]> {
  const rows = await db.query('SELECT first, last FROM unknown_services ORDER BY first');
  return rows.map(({ first, last }) => ({ first: Number(first), last: Number(last) }));
}

/** Inserts the range, or makes it as long as this one. */
export const writeUnknown = ({ first, last }: IdRange): Statement => ({
  sql: 'INSERT INTO unknown_services (first, last) VALUES (?, ?) ON CONFLICT (first) DO UPDATE SET last = excluded.last',
  args: [first, last],
});

/** The key that proofs of ids are made with. */
export async function loadIdKey(db: Db): Promise<string> {
  const [row] = await db.query(`SELECT value FROM secrets WHERE name = 'id-proofs' LIMIT 1`);
  if (!row) throw new DatabaseError('other', 'the database has no key of the proofs of ids');
  return String(row.value);
}

export const writeUnprovenIds = (count: number): Statement => ({
  sql: 'UPDATE coordinator SET unproven_ids = ?',
  args: [count],
});

/** Raises the sequences so that the next ids are at least these, except for those that are there already. */
export const raiseIds = (
  { execution, service }: Pick<NextIds, 'execution' | 'service'>,
  isThere: { execution: boolean; service: boolean } = { execution: false, service: false },
): Statement[] => [
  ...(isThere.execution ? [] : raise('executions', execution - 1)),
  ...(isThere.service ? [] : raise('services', service - 1)),
];

/** A table without any insert so far has no row in the sequence. */
const raise = (table: string, last: number): Statement[] => [
  { sql: 'UPDATE sqlite_sequence SET seq = ? WHERE name = ? AND seq < ?', args: [last, table, last] },
  {
    sql: `INSERT INTO sqlite_sequence (name, seq)
      SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?)`,
    args: [table, last, table],
  },
];
