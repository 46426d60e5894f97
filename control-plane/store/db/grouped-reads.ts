/**
 * Owns the grouping of small reads: those that come in one turn of the event loop are run together at its end, equal ones
 * once. Requests of one moment are so answered together, which wakes their clients once and keeps the database's code at
 * hand. Node only: on workerd a request can't wait for another's I/O.
 */
import type { Db, Row } from './db.ts';

/** The same database. A read that waits sees every write that was asked for before it, and perhaps later ones. */
export function groupReads(db: Db): Db {
  let waiting: (() => void)[] = [];
  /** By text, then by values: a text of ours is hashed once in its life, and these are many. */
  const answers = new Map<string, Map<string, Promise<Row[]>>>();
  const run = () => {
    const reads = waiting;
    waiting = [];
    answers.clear();
    for (const read of reads) read();
  };
  return {
    query(sql, args = []) {
      // Others may write (RETURNING), or give too much to be kept.
      if (!sql.endsWith('LIMIT 1')) return db.query(sql, args);
      const ofText = answers.get(sql) ?? new Map<string, Promise<Row[]>>();
      const values = JSON.stringify(args);
      const known = ofText.get(values);
      if (known) return known;
      const answer = new Promise<Row[]>((resolve) => waiting.push(() => resolve(db.query(sql, args))));
      answers.set(sql, ofText.set(values, answer));
      if (waiting.length === 1) setImmediate(run);
      return answer;
    },
    batch: (statements) => db.batch(statements),
    close: () => {
      run();
      return db.close();
    },
  };
}
