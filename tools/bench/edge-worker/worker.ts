/**
 * The limits of the group `edge`: a Hono worker that answers from memory, or makes one call to the database,
 * or has its object group inserts into transactions.
 */
import { DurableObject } from 'cloudflare:workers';
import { type Client, createClient } from '@libsql/client/web';
import { Hono } from 'hono';

interface Limits extends Record<string, unknown> {
  DATABASE_URL: string;
  /** An answer of Berth to GET execution. */
  EXAMPLE: string;
  INSERTER: DurableObjectNamespace<Inserter>;
}

const open = (url: string): Client => createClient({ url, concurrency: Number.POSITIVE_INFINITY });
let client: Client | undefined;

const app = new Hono<{ Bindings: Limits }>();
app.get('/memory', (c) => c.json(JSON.parse(c.env.EXAMPLE)));
app.get('/read/:id', async (c) => {
  client ??= open(c.env.DATABASE_URL);
  const sql = 'SELECT body FROM limit_rows WHERE id = 1';
  const { rows } = await client.execute({ sql, args: [] });
  return c.json(JSON.parse(String(rows[0]?.body)));
});
app.post('/insert', async (c) => {
  const body = await c.req.json();
  const { INSERTER } = c.env;
  const id = await INSERTER.get(INSERTER.idFromName('one')).insert(JSON.stringify(body));
  return c.json({ execution_id: id });
});
export default app;

/** Inserts what has arrived since the last transaction in the next one. */
export class Inserter extends DurableObject<Limits> {
  readonly #client = open(this.env.DATABASE_URL);
  #waiting: { body: string; resolve: (id: number) => void; reject: (error: unknown) => void }[] = [];
  #isBusy = false;

  insert(body: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ body, resolve, reject });
      if (!this.#isBusy) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isBusy = true;
    await new Promise((resolve) => setTimeout(resolve, 0));
    while (this.#waiting.length > 0) {
      const inserts = this.#waiting.splice(0, 500);
      const sql = 'INSERT INTO limit_rows (body) VALUES (?) RETURNING id';
      try {
        const results = await this.#client.batch(
          inserts.map(({ body }) => ({ sql, args: [body] })),
          'write',
        );
        for (const [at, { resolve }] of inserts.entries()) resolve(Number(results[at]?.rows[0]?.id));
      } catch (error) {
        for (const { reject } of inserts) reject(error);
      }
    }
    this.#isBusy = false;
  }
}
