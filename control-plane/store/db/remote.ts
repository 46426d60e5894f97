/**
 * The remote database: a libSQL server (sqld, Turso) over HTTP, on workerd and on Node. Must not import
 * anything from Node, or put the token into a message.
 */
import { type Client, createClient, LibsqlError, type ResultSet } from '@libsql/client/web';
import {
  type Argument,
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
  /** Limit for one call, from its request to the last byte of the response. */
  timeoutMs?: number;
}

/**
 * Opens an `http:`, `https:` or `libsql:` URL, and connects at the first call. Throws DatabaseError for
 * invalid settings.
 */
export function openRemote(url: string, token?: string, options: RemoteOptions = {}): Db {
  const { timeoutMs = 30_000 } = options;
  const host = checkedHost(url);
  // With such a token, the Headers API throws an error whose message contains the token.
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new DatabaseError('other', 'the database token is empty or contains invalid characters');
  }
  // The client's own queue (20 calls at a time) would make one request wait for another, which workerd
  // cancels as hung.
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

  async query(sql: string, args: readonly Argument[] = []): Promise<Row[]> {
    return this.#guarded(async () => {
      return rowsOf(await this.#client.execute({ sql, args: args.map(bound) }));
    });
  }

  async readTogether(reads: readonly Statement[]): Promise<Row[][]> {
    return this.#guarded(async () => {
      const results = await this.#client.batch(reads.map(boundStatement), 'read');
      return results.map(rowsOf);
    });
  }

  async batch(statements: readonly Statement[]): Promise<number[]> {
    return this.#guarded(async () => {
      if (statements.length === 0) return [];
      const results = await this.#client.batch(statements.map(boundStatement), 'write');
      return results.map((result) => result.rowsAffected);
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

const boundStatement = ({ sql, args }: Statement) => ({ sql, args: args.map(bound) });

const rowsOf = ({ columns, rows }: ResultSet): Row[] =>
  rows.map((row) => Object.fromEntries(columns.map((name, index) => [name, row[index] as Value])));

/** Sends one request and reads the whole response. Any failure on the way is `unavailable`. */
async function exchange(request: Request, host: string, timeoutMs: number): Promise<Response> {
  const signal = AbortSignal.timeout(timeoutMs);
  // To compress a short answer and to decompress it takes longer than to send it.
  request.headers.set('accept-encoding', 'identity');
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
  // The message omits the server's text, which may contain the token.
  if (response.status === 401 || response.status === 403) {
    throw new DatabaseError('other', `the database at ${host} refuses the token (HTTP ${response.status})`);
  }
  return new Response(body, response);
}

/**
 * The client wraps the server's error, which is the useful one. Each layer puts its code in front of the
 * message.
 */
function databaseError(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const code = error instanceof LibsqlError ? error.code : '';
  const source = error instanceof LibsqlError && error.cause instanceof Error ? error.cause : error;
  const message = source instanceof Error ? source.message : String(source);
  return new DatabaseError(errorKind(code), message.replace(/^SQLite error: /, ''), { cause: error });
}

/** The host part of the URL, for messages. Refuses URLs with secrets, because they would appear in logs. */
function checkedHost(url: string): string {
  if (!URL.canParse(url)) throw new DatabaseError('other', 'the database URL is not a URL');
  const { protocol, host, username, password, searchParams } = new URL(url);
  if (!['http:', 'https:', 'libsql:'].includes(protocol)) {
    throw new DatabaseError('other', `a remote database has an http, https or libsql URL, not ${protocol}`);
  }
  if (username !== '' || password !== '' || searchParams.has('authToken')) {
    throw new DatabaseError('other', 'the database URL contains a secret: pass the token in its own setting');
  }
  return host;
}
