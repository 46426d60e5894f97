/** A database whose transactions are timed, for the metrics of the coordinator. */
import type { Db } from '../store/db/db.ts';
import type { Clock } from './ports.ts';

/** `took` is called after each transaction, also after one that has failed. */
export const timedDb = (
  db: Db,
  clock: Pick<Clock, 'monotonicMs'>,
  took: (durationMs: number) => void,
): Db => {
  const timed = async <T>(transaction: () => Promise<T>): Promise<T> => {
    const beganMs = clock.monotonicMs();
    try {
      return await transaction();
    } finally {
      took(clock.monotonicMs() - beganMs);
    }
  };
  return {
    query: (sql, args) => db.query(sql, args),
    batch: (statements) => timed(() => db.batch(statements)),
    batchRows: (statements) => timed(() => db.batchRows(statements)),
    ...(db.readTogether && { readTogether: (reads) => db.readTogether?.(reads) ?? Promise.resolve([]) }),
    ...(db.shrink && { shrink: (maxPages) => db.shrink?.(maxPages) ?? Promise.resolve(0) }),
    ...(db.isLocked && { isLocked: () => db.isLocked?.() ?? false }),
    close: () => db.close(),
  };
};
