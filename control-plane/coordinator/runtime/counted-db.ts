/** A database whose requests count as time awake (C233). */
import type { Db } from '../../store/db/db.ts';
import type { AwakeTime } from '../sleep/awake-time.ts';

export const countedDb = (db: Db, awake: AwakeTime): Db => ({
  query: (sql, args) => awake.during(() => db.query(sql, args)),
  batch: (statements) => awake.during(() => db.batch(statements)),
  batchRows: (statements) => awake.during(() => db.batchRows(statements)),
  ...(db.readTogether && {
    readTogether: (reads) => awake.during(() => db.readTogether?.(reads) ?? Promise.resolve([])),
  }),
  close: () => db.close(),
});
