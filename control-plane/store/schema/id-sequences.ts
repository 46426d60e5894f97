/**
 * Rows about assigned ids: the sequences, and the ranges that a restored database does not contain (STORE-9).
 */
import type { IdRange } from '../../../shared/protocol/assignment.ts';
import type { NextIds } from '../../core/state/changes.ts';
import type { Db, Statement } from '../db/db.ts';

/** Ranges of service ids that were assigned, but are not in this database. */
export async function loadUnknown(db: Db): Promise<IdRange[]> {
  const rows = await db.query('SELECT first, last FROM unknown_services ORDER BY first');
  return rows.map(({ first, last }) => ({ first: Number(first), last: Number(last) }));
}

export const insertUnknown = ({ first, last }: IdRange): Statement => ({
  sql: 'INSERT INTO unknown_services (first, last) VALUES (?, ?)',
  args: [first, last],
});

/** Raises the sequences so that the next ids are at least these. */
export const raiseIds = ({ execution, service }: Pick<NextIds, 'execution' | 'service'>): Statement[] => [
  ...raise('executions', execution - 1),
  ...raise('services', service - 1),
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
