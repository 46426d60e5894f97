/**
 * The remote database: a libSQL server (sqld, Turso) over HTTP, on workerd and on Node, each with its own
 * protocol. Must not import anything from Node, or put the token into a message.
 */
import { type Argument, closedError, DatabaseError, type Db, type Row, type Statement } from './db.ts';

/** What a statement of a transaction did. */
export interface Written {
  affected: number;
  rows: Row[];
}

/** Resolves to the answer to a body, which is sent again if `isBusy` is true of its answer. */
export type Send = (body: string, isBusy?: (answer: string) => boolean) => Promise<string>;

/** Encodes statements as requests, which `send` makes, and decodes the answers. */
export type Protocol = (send: Send) => {
  /** Resolves to the rows of each statement. */
  read(statements: readonly Statement[]): Promise<Row[][]>;
  /** Runs one write transaction. Rows are returned if `wantsRows`. */
  write(statements: readonly Statement[], wantsRows: boolean): Promise<Written[]>;
};

export interface RemoteOptions {
  /** Limit for one call, from its request to the last byte of the response. */
  timeoutMs?: number;
}

/**
 * Opens an `http:`, `https:` or `libsql:` URL, and connects at the first call. Throws DatabaseError for
 * invalid settings.
 */
export function openRemote(
  url: string,
  token: string | undefined,
  protocol: Protocol,
  { timeoutMs = 30_000 }: RemoteOptions = {},
): Db {
  const host = checkedHost(url);
  // With such a token, the Headers API throws an error whose message contains the token.
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new DatabaseError('other', 'the database token is empty or contains invalid characters');
  }
  const headers = {
    'content-type': 'application/json',
    // To compress a short answer and to decompress it takes longer than to send it.
    'accept-encoding': 'identity',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const pipeline = new URL(url.replace(/^libsql:/, 'https:'));
  pipeline.pathname = `${pipeline.pathname.replace(/\/$/, '')}/v2/pipeline`;
  pipeline.search = '';
  pipeline.hash = '';
  const send: Send = (body, isBusy) =>
    exchange(pipeline.href, { method: 'POST', headers, body }, { host, timeoutMs, isBusy });
  return new RemoteDb(protocol(send));
}

class RemoteDb implements Db {
  readonly #server: ReturnType<Protocol>;
  readonly #pending = new Set<Promise<unknown>>();
  #closed = false;

  constructor(server: ReturnType<Protocol>) {
    this.#server = server;
  }

  async query(sql: string, args: readonly Argument[] = []): Promise<Row[]> {
    const [rows = []] = await this.readTogether([{ sql, args }]);
    return rows;
  }

  readTogether(reads: readonly Statement[]): Promise<Row[][]> {
    return this.#guarded(() => this.#server.read(reads));
  }

  async batch(statements: readonly Statement[]): Promise<number[]> {
    const written = await this.#write(statements, false);
    return written.map(({ affected }) => affected);
  }

  async batchRows(statements: readonly Statement[]): Promise<Row[][]> {
    const written = await this.#write(statements, true);
    return written.map(({ rows }) => rows);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#pending);
  }

  #write(statements: readonly Statement[], wantsRows: boolean): Promise<Written[]> {
    return this.#guarded(async () =>
      statements.length === 0 ? [] : this.#server.write(statements, wantsRows),
    );
  }

  async #guarded<T>(action: () => Promise<T>): Promise<T> {
    if (this.#closed) throw closedError();
    const call = action();
    this.#pending.add(call);
    try {
      return await call;
    } finally {
      this.#pending.delete(call);
    }
  }
}

/** Pauses before a request is sent again that the server had no room for. Each varies by half. */
const BUSY_PAUSES_MS = [15, 30, 60, 120, 240, 480];

interface ExchangeRules {
  host: string;
  timeoutMs: number;
  isBusy: ((answer: string) => boolean) | undefined;
}

/**
 * Sends one request and reads the whole answer. Any failure on the way is `unavailable`. A server that has
 * too many requests (429) or writers at once has not begun with this one, so it is sent again (STORE-14).
 */
async function exchange(
  url: string,
  init: RequestInit,
  { host, timeoutMs, isBusy = () => false }: ExchangeRules,
): Promise<string> {
  const signal = AbortSignal.timeout(timeoutMs);
  const lastRepeatMs = performance.now() + timeoutMs / 2;
  const send = async ([pauseMs, ...later]: readonly number[]): Promise<[Response, string]> => {
    const response = await fetch(url, { ...init, signal });
    const body = await response.text();
    const hasNotBegun = response.status === 429 || (response.ok && isBusy(body));
    if (!hasNotBegun || pauseMs === undefined || performance.now() + pauseMs > lastRepeatMs)
      return [response, body];
    await new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + Math.random())));
    return send(later);
  };
  let response: Response;
  let body: string;
  try {
    [response, body] = await send(BUSY_PAUSES_MS);
  } catch (cause) {
    const reason = signal.aborted ? `did not answer within ${timeoutMs} ms` : "can't be reached";
    throw new DatabaseError('unavailable', `the database at ${host} ${reason}`, { cause });
  }
  const { status } = response;
  if (response.ok) return body;
  if (status >= 500 || status === 429)
    throw new DatabaseError('unavailable', `the database at ${host} answered HTTP ${status}`);
  // The message omits the server's text, which may contain the token.
  const what = status === 401 || status === 403 ? 'refuses the token' : 'refuses the request';
  throw new DatabaseError('other', `the database at ${host} ${what} (HTTP ${status})`);
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
