/** Owns the rows of what Berth made up for itself and must find again after a restart. */
import type { Db } from '../db/db.ts';

/** The secret of that name: the one in the database, else `fresh`, which is kept. Whoever asks at once gets the same. */
export async function keptSecret(db: Db, name: string, fresh: () => string): Promise<string> {
  const found = await findSecret(db, name);
  if (found !== undefined) return found;
  await db.batch([
    { sql: 'INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING', args: [name, fresh()] },
  ]);
  const kept = await findSecret(db, name);
  if (kept === undefined) throw new Error(`the database has not kept the secret ${name}`);
  return kept;
}

async function findSecret(db: Db, name: string): Promise<string | undefined> {
  const [row] = await db.query('SELECT value FROM secrets WHERE name = ? LIMIT 1', [name]);
  return row && String(row.value);
}
