/** Rows of generated secrets that must survive a restart. */
import type { Db } from '../db/db.ts';

/** The secret of that name, created if it does not exist. Simultaneous callers get the same one. */
export async function findOrCreateSecret(db: Db, name: string, create: () => string): Promise<string> {
  const found = await findSecret(db, name);
  if (found !== undefined) return found;
  await db.batch([
    { sql: 'INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING', args: [name, create()] },
  ]);
  const stored = await findSecret(db, name);
  if (stored === undefined) throw new Error(`the database has not stored the secret ${name}`);
  return stored;
}

async function findSecret(db: Db, name: string): Promise<string | undefined> {
  const [row] = await db.query('SELECT value FROM secrets WHERE name = ? LIMIT 1', [name]);
  return row && String(row.value);
}
