/** Owns the rows about ids that rows do not tell: those given before the database was restored from an older copy. */
import type { IdRange } from '../../../shared/protocol/assignment.ts';
import type { NextIds } from '../../core/state/cluster.ts';
import type { Db, Statement } from '../db/db.ts';

/** Services of which this database knows nothing, although they were there. */
export async function loadUnknown(db: Db): Promise<IdRange[]> {
  const rows = await db.query('SELECT first, last FROM unknown_services ORDER BY first');
  return rows.map(({ first, last }) => ({ first: Number(first), last: Number(last) }));
}

export const insertUnknown = ({ first, last }: IdRange): Statement => ({
  sql: 'INSERT INTO unknown_services (first, last) VALUES (?, ?)',
  args: [first, last],
});

/** The ids given next are these at least. */
export const raiseIds = ({ execution, service }: Pick<NextIds, 'execution' | 'service'>): Statement[] => [
  ...raise('executions', execution - 1),
  ...raise('services', service - 1),
];

/** A table in which nothing was ever inserted has no row in the sequence yet. */
const raise = (table: string, last: number): Statement[] => [
  { sql: 'UPDATE sqlite_sequence SET seq = ? WHERE name = ? AND seq < ?', args: [last, table, last] },
  {
    sql: `INSERT INTO sqlite_sequence (name, seq)
      SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?)`,
    args: [table, last, table],
  },
];
