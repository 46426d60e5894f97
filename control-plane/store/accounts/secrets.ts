/** Rows of generated secrets that must survive a restart. */
import type { Db } from '../db/db.ts';

const KEY_BYTES = 32;

/** A random key of Berth's own: made when it is first needed, then read once. */
export class StoredKey {
  readonly #db: Db;
  readonly #name: string;
  #text: string | undefined;
  #bytes: Uint8Array | undefined;

  constructor(db: Db, name: string) {
    this.#db = db;
    this.#name = name;
  }

  /** In base64url. Rejects with DatabaseError. */
  async text(): Promise<string> {
    this.#text ??= await findOrCreateSecret(this.#db, this.#name, () =>
      Buffer.from(crypto.getRandomValues(new Uint8Array(KEY_BYTES))).toString('base64url'),
    );
    return this.#text;
  }

  /** 32 of them. Rejects with DatabaseError. */
  async bytes(): Promise<Uint8Array> {
    const bytes = this.#bytes ?? Buffer.from(await this.text(), 'base64url');
    this.#bytes = bytes;
    return bytes;
  }
}

/** The secret of that name, created if it does not exist. Simultaneous callers get the same one. */
async function findOrCreateSecret(db: Db, name: string, create: () => string): Promise<string> {
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
