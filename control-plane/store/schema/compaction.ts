/** Compaction of an embedded file from an earlier version, which cannot give unused pages back (STORE-23). */
import { DatabaseError, type Db } from '../db/db.ts';

/** A larger file would delay the start by more than a second. */
const MAX_BYTES = 64 * 2 ** 20;

export interface Compaction {
  outcome: 'done' | 'too large' | 'in use';
  /** Size of the file before. */
  bytes: number;
}

/**
 * Writes the file anew, so that it can shrink from now on. Resolves to undefined if it can already, or if the
 * database is on a server.
 */
export async function compact(db: Db, maxBytes = MAX_BYTES): Promise<Compaction | undefined> {
  if (!db.shrink) return undefined;
  const pragma = async (name: string) =>
    Number(Object.values((await db.query(`PRAGMA ${name}`))[0] ?? {})[0]);
  if ((await pragma('auto_vacuum')) !== 0) return undefined;
  const bytes = (await pragma('page_count')) * (await pragma('page_size'));
  if (bytes > maxBytes) return { outcome: 'too large', bytes };
  try {
    await db.query('VACUUM');
    return { outcome: 'done', bytes };
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === 'unavailable') return { outcome: 'in use', bytes };
    throw error;
  }
}
