/** Owns the rows of what Berth made up for itself and must find again after a restart. */
import type { Db } from '../db/db.ts';

/** The secret of that name: the one in the database, else `create`, which is kept. Whoever asks at once gets the same. */
export async function findOrCreateSecret(db: Db, name: string, create: () => string): Promise<string> {
  const found = await findSecret(db, name);
  if (found !== undefined) return found;
  await db.batch([
    { sql: 'INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING', args: [name, create()] },
  ]);
  const stored = await findSecret(db, name);
  if (stored === undefined) throw new Error(`the database has not kept the secret ${name}`);
  return stored;
}

async function findSecret(db: Db, name: string): Promise<string | undefined> {
  const [row] = await db.query('SELECT value FROM secrets WHERE name = ? LIMIT 1', [name]);
  return row && String(row.value);
}
