/**
 * HTTP/1.1 client for the API suite. Uses node:http because fetch hides reason phrases, cookies and how a
 * body is cut.
 */
import {
  type Agent,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  request,
} from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { checkExchange } from '../tools/documented.ts';

export interface Reply {
  status: number;
  reason: string;
  headers: IncomingHttpHeaders;
  text: string;
  json<T = Record<string, unknown>>(): T;
}

/** Berth's own path, whatever the variant of the API. */
export const NATIVE = '/native/api/0.7';

type Headers = Record<string, string>;

type Answer = Pick<Reply, 'status' | 'text'>;

/** Expects an answer with this status, and with these words in its text. */
export async function expectAnswer(
  answer: Answer | Promise<Answer>,
  status: number,
  words: string | RegExp,
): Promise<void> {
  const reply = await answer;
  const wanted = typeof words === 'string' ? expect.stringContaining(words) : expect.stringMatching(words);
  expect([reply.status, reply.text]).toEqual([status, wanted]);
}

/** The client's address, as Cloudflare tells it to a Worker. On Node it has no meaning. */
const CLOUDFLARE: Headers = { 'cf-connecting-ip': '127.0.0.1' };

export const basic = (username: string, password: string): Headers => ({
  authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
});

export class HttpClient {
  readonly #url: () => string;
  readonly #headers: Headers;
  readonly #agent: Agent | false;

  /**
   * `headers` are sent with every request. Without a keep-alive agent, each request has a connection of its
   * own.
   */
  constructor(url: () => string, headers: Headers = {}, agent: Agent | false = false) {
    this.#url = url;
    this.#headers = headers;
    this.#agent = agent;
  }

  with(headers: Headers): HttpClient {
    return new HttpClient(this.#url, { ...this.#headers, ...headers }, this.#agent);
  }

  get(path: string): Promise<Reply> {
    return this.send('GET', path);
  }

  delete(path: string): Promise<Reply> {
    return this.send('DELETE', path);
  }

  post(path: string, value: unknown): Promise<Reply> {
    return this.send('POST', path, JSON.stringify(value));
  }

  /** `path` is relative to the API's path, unless it begins with `/`. A body in pieces is sent chunked. */
  async send(
    method: string,
    path: string,
    body?: string | readonly Uint8Array[],
    signal?: AbortSignal,
  ): Promise<Reply> {
    const url = this.#urlOf(path);
    const { outgoing, answered } = this.#request(method, url, body, signal);
    if (typeof body !== 'string') for (const piece of body ?? []) outgoing.write(piece);
    outgoing.end(typeof body === 'string' ? body : undefined);
    const sent = typeof body === 'string' ? body : undefined;
    return replyTo(method, url, await answered, sent);
  }

  /** Sends the head and half of the body. Resolves to what sends the rest. */
  async hold(method: string, path: string, body: string): Promise<() => Promise<Reply>> {
    const url = this.#urlOf(path);
    const { outgoing, answered } = this.#request(method, url, body);
    const half = body.length / 2;
    await new Promise((sent) => outgoing.write(body.slice(0, half), sent));
    return async () => {
      outgoing.end(body.slice(half));
      return replyTo(method, url, await answered, body);
    };
  }

  /** Resolves when the head of the answer has arrived. The caller reads or discards the body. */
  async open(method: string, path: string): Promise<IncomingMessage> {
    const url = this.#urlOf(path);
    const { outgoing, answered } = this.#request(method, url);
    outgoing.end();
    const response = await answered;
    await checkExchange(exchangeOf(method, url, response));
    return response;
  }

  /** Begins a request, whose body the caller sends. */
  #request(
    method: string,
    url: URL,
    body?: string | readonly Uint8Array[],
    signal?: AbortSignal,
  ): { outgoing: ClientRequest; answered: Promise<IncomingMessage> } {
    const length: Headers =
      typeof body === 'string' ? { 'content-length': `${Buffer.byteLength(body)}` } : {};
    // By default each request has a new connection, because a restarted host has closed the earlier ones.
    const headers = { ...CLOUDFLARE, ...length, ...this.#headers };
    const options: RequestOptions = { method, agent: this.#agent, headers, ...(signal && { signal }) };
    const { promise: answered, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const outgoing = request(url, options, resolve);
    // An error after the answer has begun, e.g. when the rest of a body is refused, changes nothing.
    outgoing.on('error', reject);
    return { outgoing, answered };
  }

  #urlOf(path: string): URL {
    return new URL(path.startsWith('/') ? path : `/api/0.7/${path}`, this.#url());
  }
}

async function replyTo(
  method: string,
  url: URL,
  response: IncomingMessage,
  requestBody: string | undefined,
): Promise<Reply> {
  const received = await text(response);
  await checkExchange({ ...exchangeOf(method, url, response), requestBody, body: received });
  return {
    status: response.statusCode ?? 0,
    reason: response.statusMessage ?? '',
    headers: response.headers,
    text: received,
    json: () => JSON.parse(received),
  };
}

const exchangeOf = (method: string, url: URL, response: IncomingMessage) => ({
  method,
  origin: url.origin,
  path: url.pathname,
  status: response.statusCode ?? 0,
  header: (name: string) => response.headers[name.toLowerCase()]?.toString(),
});
