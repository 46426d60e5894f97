/** HTTP for the client: node:http, since fetch breaks off a body that is silent for five minutes. */
import type { Agent, IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import type { ErrorAnswer } from './api-types.ts';
import { BerthError, type Call, type Credentials } from './call.ts';

const COOKIE = 'berth_session';
/** The same from a server that knows its clients to use https. */
const HOST_COOKIE = `__Host-${COOKIE}`;

const SERVER_ERROR = 500;
/** Where a form leads to once it is done. */
const SEE_OTHER = 303;

/** Resolves to the answer once its head is there. Throws BerthError if the server refuses the call. */
export async function send(call: Call): Promise<IncomingMessage> {
  const response = await answerTo(call);
  const status = response.statusCode ?? 0;
  const isDone = (status >= 200 && status < 300) || status === SEE_OTHER;
  if (isDone && !isPage(response, call)) return response;
  const body = await text(response).catch(() => '');
  throw errorOf(call.url, response, body);
}

/** Pauses before the repeats of a call that makes something. */
const REPEATS_MS = [250, 1_000, 4_000];

/** Sends a call that makes something. Repeats it if its answer was lost: all repeats make one thing. */
export async function sendOnce(call: Call): Promise<IncomingMessage> {
  const keyed = { ...call, idempotencyKey: crypto.randomUUID() };
  for (const pauseMs of REPEATS_MS)
    try {
      return await send(keyed);
    } catch (error) {
      if (!isLost(error)) throw error;
      await pause(pauseMs, undefined, { signal: call.signal });
    }
  return send(keyed);
}

/** Whether the call may have been carried out although there is no answer. */
function isLost(error: unknown): boolean {
  if (!(error instanceof BerthError)) return false;
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
  return error.status === 0 ? code !== 'ECONNREFUSED' && code !== 'ENOTFOUND' : error.status >= SERVER_ERROR;
}

/** The session that an answer has set. */
export function sessionOf({ headers }: IncomingMessage): string | undefined {
  const cookies = (headers['set-cookie'] ?? []).map((cookie) => cookie.split(';')[0] ?? '');
  for (const name of [COOKIE, HOST_COOKIE]) {
    const found = cookies.find((cookie) => cookie.startsWith(`${name}=`));
    if (found) return found.slice(name.length + 1);
  }
  return undefined;
}

/** Connections are used again, and many calls at once share a few of them. */
const CONNECTIONS = { keepAlive: true, maxSockets: 8 };
type Http = typeof import('node:http');

interface Sender {
  request: Http['request'];
  agent: Agent;
}

const senders = new Map<string, Sender>();
const load = createRequire(import.meta.url);

/** For `http:` or `https:`. An import would also load fetch, for longer than `berth` may take to start. */
function senderFor(protocol: string): Sender {
  const known = senders.get(protocol);
  if (known) return known;
  const { request, Agent } = load(protocol === 'https:' ? 'node:https' : 'node:http') as Http;
  const sender = { request, agent: new Agent(CONNECTIONS) };
  senders.set(protocol, sender);
  return sender;
}

function answerTo({
  method,
  url,
  credentials,
  body,
  signal,
  idempotencyKey,
}: Call): Promise<IncomingMessage> {
  const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const headers = {
    accept: '*/*',
    ...(credentials && headerOf(credentials)),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    ...(payload && { 'content-type': 'application/json', 'content-length': payload.byteLength }),
  };
  const { request, agent } = senderFor(url.protocol);
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent, ...(signal && { signal }) }, resolve);
    outgoing.on('error', (error: NodeJS.ErrnoException) =>
      reject(
        new BerthError(0, `${url.origin} can't be reached: ${reasonOf(error)}`, {
          cause: error,
          unreachable: url.origin,
        }),
      ),
    );
    outgoing.end(payload);
  });
}

/** Errors for several addresses have no message of their own, and those of TLS have one for its authors. */
const reasonOf = ({ message, code }: NodeJS.ErrnoException): string =>
  code !== undefined && WITHOUT_TLS.includes(code)
    ? 'the server there has no TLS; for one without, use http:// and not https://'
    : message || code || 'no answer';

const WITHOUT_TLS: readonly string[] = [
  'EPROTO',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
];

export function headerOf(credentials: Credentials): Record<string, string> {
  if ('token' in credentials) return { authorization: `Bearer ${credentials.token}` };
  if ('session' in credentials)
    return { cookie: `${COOKIE}=${credentials.session}; ${HOST_COOKIE}=${credentials.session}` };
  const { username, password } = credentials;
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` };
}

/** The API has no pages: something else answers at this address. */
const isPage = ({ headers }: IncomingMessage, { url }: Call): boolean =>
  url.pathname.startsWith('/native/') && (headers['content-type'] ?? '').startsWith('text/html');

/** The error for an answer other than the one that was requested. */
export function errorOf(
  { origin, pathname: path }: URL,
  { statusCode = 0, headers, statusMessage }: IncomingMessage,
  body: string,
): BerthError {
  try {
    const { code, message, problems } = JSON.parse(body) as ErrorAnswer;
    return new BerthError(statusCode, message, { code, problems: problems ?? [], path });
  } catch {
    const status = [statusCode, headers.status ?? statusMessage].filter(Boolean).join(' ');
    const { location } = headers;
    const way =
      statusCode >= SERVER_ERROR
        ? 'A proxy in front of it may not reach it.'
        : 'Is this the address of a control plane?';
    const found = location === undefined ? 'and not as Berth does' : `and leads to ${location}`;
    return new BerthError(statusCode, `${origin} answers with ${status}, ${found}. ${way}`);
  }
}
