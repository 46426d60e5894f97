/**
 * Owns the remote database: a libSQL server (sqld, Turso) over HTTP, on workerd and on Node alike. Never imports
 * anything of Node, and never lets the token into a message.
 */
import { type Client, createClient, LibsqlError } from '@libsql/client/web';
import {
  bound,
  closedError,
  DatabaseError,
  type Db,
  errorKind,
  type Row,
  type Statement,
  type Value,
} from './db.ts';

export interface RemoteOptions {
  /** For one call, from its request to the last byte of the answer. */
  timeoutMs?: number;
}

/** `http:`, `https:` or `libsql:` URL. Connects at the first call; throws DatabaseError for settings that can't work. */
export function openRemote(url: string, token?: string, options: RemoteOptions = {}): Db {
  const { timeoutMs = 30_000 } = options;
  const host = checkedHost(url);
  // A header refuses such a token with a message that repeats it.
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new DatabaseError('other', 'the database token is empty or has characters that no token has');
  }
  // The client's own queue (20 calls at a time) would let one request wait for another, which workerd ends as hung.
  const concurrency = Number.POSITIVE_INFINITY;
  const config = { url, concurrency, fetch: (request: Request) => exchange(request, host, timeoutMs) };
  return new RemoteDb(createClient(token === undefined ? config : { ...config, authToken: token }));
}

class RemoteDb implements Db {
  readonly #client: Client;
  readonly #pending = new Set<Promise<unknown>>();
  #closed = false;

  constructor(client: Client) {
    this.#client = client;
  }

  async query(sql: string, args: readonly Value[] = []): Promise<Row[]> {
    return this.#guarded(async () => {
      const { columns, rows } = await this.#client.execute({ sql, args: args.map(bound) });
      return rows.map((row) => Object.fromEntries(columns.map((name, index) => [name, row[index] as Value])));
    });
  }

  async batch(statements: readonly Statement[]): Promise<number[]> {
    return this.#guarded(async () => {
      if (statements.length === 0) return [];
      const batch = statements.map(({ sql, args }) => ({ sql, args: args.map(bound) }));
      return (await this.#client.batch(batch, 'write')).map((result) => result.rowsAffected);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#pending);
    this.#client.close();
  }

  async #guarded<T>(action: () => Promise<T>): Promise<T> {
    if (this.#closed) throw closedError();
    const call = action();
    this.#pending.add(call);
    try {
      return await call;
    } catch (error) {
      throw databaseError(error);
    } finally {
      this.#pending.delete(call);
    }
  }
}

/** One request with its whole answer: whatever goes wrong on the way is `unavailable`, here and nowhere else. */
async function exchange(request: Request, host: string, timeoutMs: number): Promise<Response> {
  const signal = AbortSignal.timeout(timeoutMs);
  let response: Response;
  let body: ArrayBuffer;
  try {
    response = await fetch(request, { signal });
    body = await response.arrayBuffer();
  } catch (cause) {
    const reason = signal.aborted ? `did not answer within ${timeoutMs} ms` : "can't be reached";
    throw new DatabaseError('unavailable', `the database at ${host} ${reason}`, { cause });
  }
  if (response.status >= 500 || response.status === 429) {
    throw new DatabaseError('unavailable', `the database at ${host} answered HTTP ${response.status}`);
  }
  // The server's own words stay out of this one: they may repeat what they refuse.
  if (response.status === 401 || response.status === 403) {
    throw new DatabaseError('other', `the database at ${host} refuses the token (HTTP ${response.status})`);
  }
  return new Response(body, response);
}

/** The client wraps the server's error, which alone says what happened; each layer repeats its code in front. */
function databaseError(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const code = error instanceof LibsqlError ? error.code : '';
  const source = error instanceof LibsqlError && error.cause instanceof Error ? error.cause : error;
  const message = source instanceof Error ? source.message : String(source);
  return new DatabaseError(errorKind(code), message.replace(/^SQLite error: /, ''), { cause: error });
}

/** What messages call the database. Secrets in a URL would end up in logs: they are refused. */
function checkedHost(url: string): string {
  if (!URL.canParse(url)) throw new DatabaseError('other', 'the database URL is not a URL');
  const { protocol, host, username, password, searchParams } = new URL(url);
  if (!['http:', 'https:', 'libsql:'].includes(protocol)) {
    throw new DatabaseError('other', `a remote database has an http, https or libsql URL, not ${protocol}`);
  }
  if (username !== '' || password !== '' || searchParams.has('authToken')) {
    throw new DatabaseError('other', 'the database URL holds a secret: give the token in its own setting');
  }
  return host;
}
