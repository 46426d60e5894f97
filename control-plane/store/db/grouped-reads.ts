/**
 * Groups small reads: those of one turn of the event loop run together at its end, and equal reads run once
 * (STORE-6). Node only: on workerd a request cannot wait for another one's I/O.
 */
import type { Db, Row } from './db.ts';

/** Wraps a database. A read sees every write that was requested before it, and possibly later ones. */
export function groupReads(db: Db): Db {
  let waiting: (() => void)[] = [];
  /** By text, then by values: the hash of a constant text is computed only once. */
  const answers = new Map<string, Map<string, Promise<Row[]>>>();
  const run = () => {
    const reads = waiting;
    waiting = [];
    answers.clear();
    for (const read of reads) read();
  };
  return {
    query(sql, args = []) {
      // Other queries may write (RETURNING), or return too much to share.
      if (!sql.endsWith('LIMIT 1')) return db.query(sql, args);
      const ofText = answers.get(sql) ?? new Map<string, Promise<Row[]>>();
      const values = JSON.stringify(args);
      const pending = ofText.get(values);
      if (pending) return pending;
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
