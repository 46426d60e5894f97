/** Requests of the attacks: each on a connection of its own, with a time limit, and nothing added to it. */
import { type IncomingHttpHeaders, type IncomingMessage, type RequestOptions, request } from 'node:http';
import { request as requestTls } from 'node:https';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';

export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  ms: number;
}

export interface Request {
  method?: string;
  /** Relative to the API's path, unless it begins with `/`. */
  path: string;
  headers?: Record<string, string> | undefined;
  body?: string | undefined;
  signal: AbortSignal;
}

export const basic = (name: string, password: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
});

/** Resolves when the head of the answer has arrived. The caller reads or destroys the body. */
export function open(base: URL, { method = 'GET', path, headers, body, signal }: Request) {
  const url = new URL(path.startsWith('/') ? path : `/api/0.7/${path}`, base);
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  return new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = requestTo(url, { method, headers: { ...length, ...headers }, signal });
    outgoing.on('response', resolve);
    // An error after the answer has begun, e.g. when the rest of a body is refused, changes nothing.
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

export async function send(base: URL, what: Request): Promise<Reply> {
  const startMs = performance.now();
  const response = await open(base, what);
  const received = await text(response);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: received,
    ms: performance.now() - startMs,
  };
}

const requestTo = (url: URL, options: RequestOptions) =>
  (url.protocol === 'https:' ? requestTls : request)(url, { agent: false, ...options });

/** What requests a WebSocket. */
export const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': Buffer.alloc(16, 'x').toString('base64'),
};

/** Headers as the lines of a request. */
export const linesOf = (headers: Record<string, string>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');

/** Requests a WebSocket. Resolves to the status of the answer: 101 if the connection was made. */
export function upgradeStatus(base: URL, { path, headers, signal }: Request): Promise<number> {
  const url = new URL(path, base);
  return new Promise((resolve, reject) => {
    const outgoing = requestTo(url, { headers: { ...UPGRADE, ...headers }, signal });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => resolve(response.resume().statusCode ?? 0));
    outgoing.on('upgrade', (_, socket) => {
      socket.destroy();
      resolve(101);
    });
    outgoing.end();
  });
}

/** A connection without any HTTP, for requests that no client would send. Resolves once it is open. */
export function dial(base: URL, signal: AbortSignal): Promise<Socket> {
  const secure = base.protocol === 'https:';
  const port = Number(base.port) || (secure ? 443 : 80);
  const host = base.hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const socket = secure ? connectTls({ host, port, servername: host }) : connect({ host, port });
    signal.addEventListener('abort', () => socket.destroy(new Error('aborted')), { once: true });
    socket.once(secure ? 'secureConnect' : 'connect', () => resolve(socket));
    socket.once('error', reject);
  });
}
