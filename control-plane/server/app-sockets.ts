/**
 * Requests and WebSockets to web applications on Node. A WebSocket is passed on as the bytes of its
 * connection, so that the application and the browser agree on everything else themselves, and each waits for
 * the other's reader.
 */
import { EventEmitter } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { type AppAnswer, type AppRelay, responseOf } from '../coordinator/apps/app-relay.ts';
import { closeFrame, FrameReader } from '../coordinator/apps/socket-frames.ts';
import {
  assertAccepted,
  type Handshake,
  notAHandshake,
  withHandshake,
} from '../coordinator/apps/socket-handshake.ts';
import type { AppRequest } from '../core/streams/app-request.ts';
import type { AcceptApp, Relayed } from '../http/apps/accept-app.ts';
import { type AppConnection, bodyOf, drained } from './app-bodies.ts';

/** What the app learns of an upgrade, and what it leaves. */
interface AppUpgrade {
  signal: AbortSignal;
  joined?: AppAnswer;
}

/** A browser may take so long to answer the close of a WebSocket. */
const CLOSE_MS = 2_000;
const GOING_AWAY = 1001;

/**
 * The app's `acceptApp` on Node. The answer to an upgrade has status 200 and the headers of the 101. Any
 * other answer has its body beside it (app-bodies.ts).
 */
export const acceptAppBy =
  (relay: AppRelay): AcceptApp =>
  async (c, request) => {
    const { appUpgrade } = c.env as { appUpgrade?: AppUpgrade };
    if (!appUpgrade) return relayed(relay, request, c.env as AppConnection);
    const handshake: Handshake = {
      key: c.req.header('sec-websocket-key') ?? '',
      protocols: c.req.header('sec-websocket-protocol'),
      extensions: c.req.header('sec-websocket-extensions'),
    };
    const isSound = request.method === 'GET' && c.req.header('sec-websocket-version') === '13';
    if (!isSound || !/^[\w+/]{22}==$/.test(handshake.key)) throw notAHandshake();
    const { signal } = appUpgrade;
    const answer = await relay.request(withHandshake(request, handshake), {
      body: null,
      signal,
      isUpgrade: true,
    });
    if (answer.status !== 101)
      return { headers: answer.headers, respond: (headers) => responseOf(answer, 'GET', [...headers]) };
    await assertAccepted(answer, handshake).catch((error) => {
      answer.pipe.close();
      throw error;
    });
    appUpgrade.joined = answer;
    return {
      headers: answer.headers,
      respond: (headers) => new Response(null, { status: 200, headers: new Headers([...headers]) }),
    };
  };

async function relayed(relay: AppRelay, request: AppRequest, connection: AppConnection): Promise<Relayed> {
  const { incoming, outgoing } = connection;
  const gone = new AbortController();
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) gone.abort();
  });
  const body = bodyOf(incoming);
  const answer = await relay.request(request, { body, signal: gone.signal, isUpgrade: false });
  const { status, headers } = answer;
  const respond: Relayed['respond'] = (filtered) => {
    connection.appAnswer = answer;
    return new Response(null, { status, headers: [...filtered] });
  };
  return { headers, respond };
}

type Fetch = (request: Request, env: unknown) => Response | Promise<Response>;

/** Where upgrades are heard of: a server, or the part of them that concerns one kind. */
export type Upgrades = Pick<EventEmitter, 'on'>;

/** Separates upgrades for applications from Berth's own, whatever their paths are. */
export function upgradesOf(
  server: Server,
  isApp: (request: IncomingMessage) => boolean,
): { ofApps: Upgrades; ofBerth: Upgrades } {
  const [ofApps, ofBerth] = [new EventEmitter(), new EventEmitter()];
  server.on('upgrade', (request: IncomingMessage, ...rest) =>
    (isApp(request) ? ofApps : ofBerth).emit('upgrade', request, ...rest),
  );
  return { ofApps, ofBerth };
}

/**
 * Serves upgrades for applications. The returned function closes all their connections. `admitted`
 * is called with each connection that has become a WebSocket.
 */
export function serveApps(upgrades: Upgrades, fetch: Fetch, admitted: (stream: Duplex) => void): () => void {
  const open = new Set<AppAnswer>();
  upgrades.on('upgrade', (incoming: IncomingMessage, stream: Duplex, head: Buffer) => {
    stream.on('error', () => stream.destroy());
    if (head.length > 0) stream.unshift(head);
    void admit(incoming, stream, fetch).then(({ response, joined }) => {
      if (!joined) return answerUpgrade(stream, response);
      admitted(stream);
      open.add(joined);
      writeHead(stream, 101, response, 'connection: Upgrade\r\nupgrade: websocket\r\n');
      void join(stream, joined).finally(() => open.delete(joined));
    });
  });
  return () => {
    for (const { pipe } of open) pipe.close('The control plane restarts.');
  };
}

async function admit(
  incoming: IncomingMessage,
  stream: Duplex,
  fetch: Fetch,
): Promise<{ response: Response; joined?: AppAnswer | undefined }> {
  const headers = new Headers();
  for (let n = 0; n + 1 < incoming.rawHeaders.length; n += 2)
    headers.append(incoming.rawHeaders[n] ?? '', incoming.rawHeaders[n + 1] ?? '');
  const gone = new AbortController();
  stream.once('close', () => gone.abort());
  const appUpgrade: AppUpgrade = { signal: gone.signal };
  try {
    const url = new URL(incoming.url ?? '/', `http://${headers.get('host') ?? 'localhost'}`);
    const response = await fetch(new Request(url, { method: incoming.method ?? 'GET', headers }), {
      incoming,
      appUpgrade,
    });
    if (response.status === 200) return { response, joined: appUpgrade.joined };
    appUpgrade.joined?.pipe.close();
    return { response };
  } catch {
    appUpgrade.joined?.pipe.close();
    return { response: new Response(null, { status: 400 }) };
  }
}

function writeHead(stream: Duplex, status: number, { headers }: Response, more: string): void {
  const lines = [...headers].map(([name, value]) => `${name}: ${value}\r\n`).join('');
  stream.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n${lines}${more}\r\n`, 'latin1');
}

/** Answers an upgrade that the application has refused. The connection ends with the answer. */
async function answerUpgrade(stream: Duplex, response: Response): Promise<void> {
  const length =
    response.body === null && !response.headers.has('content-length') ? 'content-length: 0\r\n' : '';
  writeHead(stream, response.status, response, `${length}connection: close\r\n`);
  try {
    for await (const bytes of response.body ?? []) await send(stream, bytes);
    stream.end(() => stream.destroy());
  } catch {
    stream.destroy();
  }
}

/** Resolves once the connection is over. */
async function join(stream: Duplex, answer: AppAnswer): Promise<void> {
  const { pipe } = answer;
  const frames = new FrameReader({ extensions: true });
  const over = finished(stream, { cleanup: true }).catch(() => {});
  void over.then(() => pipe.close());
  void passToApp(stream, answer);
  try {
    for (let bytes = await answer.read(); bytes; bytes = await answer.read()) {
      follow(frames, bytes);
      await send(stream, bytes);
    }
    stream.end();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    // Within a frame, a close would be taken for a part of it.
    if (frames.isBetweenFrames) stream.end(closeFrame(GOING_AWAY, reason));
    else stream.destroy();
  }
  setTimeout(() => stream.destroy(), CLOSE_MS).unref();
  await over;
}

/** What is left unread when the pipe is over must still be read, or the close would never be seen. */
async function passToApp(stream: Duplex, { pipe }: AppAnswer): Promise<void> {
  let isOver = false;
  try {
    for await (const bytes of stream.iterator({ destroyOnReturn: false })) {
      if (isOver) continue;
      await pipe.write(bytes).catch(() => {
        isOver = true;
      });
    }
    pipe.end();
  } catch {
    stream.destroy();
  }
}

function follow(frames: FrameReader, bytes: Uint8Array): void {
  for (const _ of frames.push(bytes));
}

async function send(stream: Duplex, bytes: Uint8Array): Promise<void> {
  if (stream.destroyed) throw new Error('The client has left.');
  if (!stream.write(bytes)) await drained(stream);
}
