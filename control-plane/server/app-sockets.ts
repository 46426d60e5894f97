/** Requests and WebSockets to web applications on Node. */
import { EventEmitter } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import {
  kinds,
  MAX_MESSAGE_BYTES,
  MessageMemory,
  type MessagePart,
} from '../../shared/streams/socket-messages.ts';
import { type AppAnswer, type AppRelay, protocolOf, responseOf } from '../coordinator/apps/app-relay.ts';
import { closing, notAHandshake, SocketRelay } from '../coordinator/apps/socket-relay.ts';
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
/** A browser hears a ping of Berth's that often, so that no proxy takes the connection for dead. */
const PING_MS = 25_000;
/** Beyond that, nothing more is read of the browser. */
const MAX_WAITING_BYTES = 64 * 1024;
const MAX_FRAGMENTS = 1_024;

/**
 * The app's `acceptApp` on Node. The answer to an upgrade has status 200 and the headers of the 101. Any
 * other answer has its body beside it (app-bodies.ts).
 */
export const acceptAppBy =
  (relay: AppRelay): AcceptApp =>
  async (c, request, isKnown) => {
    const { appUpgrade } = c.env as { appUpgrade?: AppUpgrade };
    if (!appUpgrade) return relayed(relay, request, isKnown, c.env as AppConnection);
    const isSound = request.method === 'GET' && c.req.header('sec-websocket-version') === '13';
    if (!isSound || !/^[\w+/]{22}==$/.test(c.req.header('sec-websocket-key') ?? '')) throw notAHandshake();
    const { signal } = appUpgrade;
    const answer = await relay.request(request, { body: null, signal, isUpgrade: true }, isKnown);
    if (!answer) return undefined;
    if (answer.status !== 101)
      return { headers: answer.headers, respond: (headers) => responseOf(answer, 'GET', [...headers]) };
    appUpgrade.joined = answer;
    return {
      headers: answer.headers,
      respond: (headers) =>
        new Response(null, { status: 200, headers: headers.filter(([name]) => !isProtocol(name)) }),
    };
  };

/** The server of WebSockets states it itself. */
const isProtocol = (name: string): boolean => name.toLowerCase() === 'sec-websocket-protocol';

async function relayed(
  relay: AppRelay,
  request: AppRequest,
  isKnown: boolean,
  connection: AppConnection,
): Promise<Relayed | undefined> {
  const { incoming, outgoing } = connection;
  const gone = new AbortController();
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) gone.abort();
  });
  const body = bodyOf(incoming);
  const answer = await relay.request(request, { body, signal: gone.signal, isUpgrade: false }, isKnown);
  if (!answer) return undefined;
  const { status, headers } = answer;
  const respond: Relayed['respond'] = (filtered) => {
    connection.appAnswer = answer;
    return new Response(null, { status, headers: [...filtered] });
  };
  return { headers, respond };
}

type SocketClock = ConstructorParameters<typeof SocketRelay>[2];
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
export function serveApps(
  upgrades: Upgrades,
  fetch: Fetch,
  clock: SocketClock,
  admitted: (stream: Duplex) => void,
): () => void {
  const open = new Set<AppAnswer>();
  const memory = new MessageMemory();
  const joining = new WeakMap<IncomingMessage, AppAnswer>();
  const options = {
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    autoPong: false,
    // One frame in a turn of the event loop (stream-sockets.ts).
    allowSynchronousEvents: false,
    maxFragments: MAX_FRAGMENTS,
    closeTimeout: CLOSE_MS,
    handleProtocols: (_: Set<string>, incoming: IncomingMessage) =>
      protocolOf(joining.get(incoming)?.headers ?? []) ?? false,
  } as const;
  const sockets = new WebSocketServer(options);
  upgrades.on('upgrade', (incoming: IncomingMessage, stream: Duplex, head: Buffer) => {
    stream.on('error', () => stream.destroy());
    void admit(incoming, stream, fetch).then(({ response, joined }) => {
      if (!joined) return answerUpgrade(stream, response);
      admitted(stream);
      open.add(joined);
      stream.once('close', () => open.delete(joined));
      joining.set(incoming, joined);
      const addHeaders = (lines: string[]) =>
        lines.push(...[...response.headers].map(([name, value]) => `${name}: ${value}`));
      sockets.once('headers', addHeaders);
      let relay: SocketRelay | undefined;
      sockets.handleUpgrade(incoming, stream, head, (socket) => {
        relay = new SocketRelay(browserOf(socket, stream), joined, clock);
        serve(socket, stream, relay, memory);
      });
      sockets.off('headers', addHeaders);
      if (!relay) joined.pipe.close();
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
  const leave = () => gone.abort();
  stream.once('close', leave);
  const appUpgrade: AppUpgrade = { signal: gone.signal };
  try {
    const url = new URL(incoming.url ?? '/', `http://${headers.get('host') ?? 'localhost'}`);
    const response = await fetch(new Request(url, { method: incoming.method ?? 'GET', headers }), {
      incoming,
      appUpgrade,
    });
    if (response.status === 200) {
      // From now on the browser's close ends the stream, after what came before it.
      stream.off('close', leave);
      return { response, joined: appUpgrade.joined };
    }
    appUpgrade.joined?.pipe.close();
    return { response };
  } catch {
    appUpgrade.joined?.pipe.close();
    return { response: new Response(null, { status: 400 }) };
  }
}

/** Answers an upgrade that the application has refused. The connection ends with the answer. */
async function answerUpgrade(stream: Duplex, { status, headers, body }: Response): Promise<void> {
  const length = body === null && !headers.has('content-length') ? 'content-length: 0\r\n' : '';
  const lines = [...headers].map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n${lines}${length}`;
  stream.write(`${head}connection: close\r\n\r\n`, 'latin1');
  try {
    for await (const bytes of body ?? []) {
      if (stream.destroyed) return;
      if (!stream.write(bytes)) await drained(stream);
    }
    stream.end(() => stream.destroy());
  } catch {
    stream.destroy();
  }
}

function serve(socket: WebSocket, stream: Duplex, relay: SocketRelay, memory: MessageMemory): void {
  const [fromBrowser, count] = [reading(socket, relay), counting(socket, relay, memory)];
  stream.on('data', ({ length }: Buffer) => count(length));
  socket.on('message', (data: Buffer, isBinary) => {
    fromBrowser(isBinary ? kinds.binary : kinds.text, data);
    count(0);
  });
  socket.on('ping', (data) => fromBrowser(kinds.ping, data));
  socket.on('pong', (data) => fromBrowser(kinds.pong, data));
  socket.on('error', () => socket.terminate());
  const ping = setInterval(() => socket.ping(), PING_MS).unref();
  socket.on('close', (code, reason) => {
    clearInterval(ping);
    count(undefined);
    relay.browserClosed(code === 1006 ? undefined : code, reason.toString());
  });
  void relay.run();
}

const browserOf = (socket: WebSocket, stream: Duplex) => ({
  async send({ kind, bytes, isFinal }: MessagePart): Promise<void> {
    if (socket.readyState !== socket.OPEN) return;
    if (kind === kinds.ping) socket.ping(bytes);
    else if (kind === kinds.pong) socket.pong(bytes);
    else socket.send(bytes, { binary: kind === kinds.binary, fin: isFinal });
    if (stream.writableNeedDrain) await drained(stream);
  },
  close: (code?: number, reason?: string) => socket.close(code, reason),
});

/** Reads nothing of the browser while too much waits for the application. */
function reading(socket: WebSocket, relay: SocketRelay): SocketRelay['fromBrowser'] {
  return async (kind, data) => {
    const written = relay.fromBrowser(kind, data);
    if (relay.waitingBytes <= MAX_WAITING_BYTES || socket.isPaused) return;
    socket.pause();
    await written;
    socket.resume();
  };
}

/**
 * Counts what the memory of this process has of the browser's messages. Call it with the bytes that have
 * come, with 0 at the end of a message, and without any at the end of the socket.
 */
function counting(socket: WebSocket, relay: SocketRelay, memory: MessageMemory) {
  let unfinished = 0;
  let counted = 0;
  return (bytes: number | undefined): void => {
    unfinished = bytes ? unfinished + bytes : 0;
    const now = bytes === undefined ? 0 : unfinished + relay.waitingBytes;
    const fits = memory.change(counted, now);
    counted = now;
    if (!fits) socket.close(closing.tryLater, 'All messages together are too long. Try again later.');
  };
}
