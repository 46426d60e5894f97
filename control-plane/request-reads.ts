/** Groups the small reads of each request, on workerd, where no request may wait for the I/O of another. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Db } from './store/db/db.ts';
import { groupReads, ReadGroup } from './store/db/grouped-reads.ts';

export interface RequestReads {
  /** Reads outside of `serve` run at once. */
  db: Db;
  /** Runs `answer` with a group of its own for the reads of its request. */
  serve<T>(answer: () => T): T;
}

export function groupReadsOfRequests(db: Db): RequestReads {
  const current = new AsyncLocalStorage<ReadGroup>();
  const afterTurn = (run: () => void) => {
    setTimeout(run, 0);
  };
  return {
    db: groupReads(db, () => current.getStore()),
    serve: (answer) => current.run(new ReadGroup(db, afterTurn), answer),
  };
}
