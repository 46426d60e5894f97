/** Clients' WebSockets of streams on Node: passes upgrades to the app, and joins what it accepts. */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { STREAM_SUBPROTOCOL } from '../../shared/streams/client-messages.ts';
import { refuseUpgrade } from '../coordinator/runtime/refuse-upgrade.ts';
import type { ClientSocket } from '../coordinator/streams/client-end.ts';
import { MAX_RESUMABLE, ResumableStreams } from '../coordinator/streams/resumable-streams.ts';
import { StreamConnection } from '../coordinator/streams/stream-connection.ts';
import type { StreamSessionDeps } from '../coordinator/streams/stream-session.ts';
import type { StreamRequest } from '../core/streams/stream-request.ts';
import type { AcceptStream } from '../http/api/route.ts';

/** The first frame may hold a long command. */
const MAX_FRAME_BYTES = 2 * 1024 * 1024;
/** Frames of one message. Clients that write by pieces have a few. */
const MAX_FRAGMENTS = 1_024;
/** While an agent is behind, it is looked at this often. */
const BEHIND_CHECK_MS = 5;
const PATH = /^\/(native\/)?api\/[^/?]+\/service\/\d+\/(exec|forward|files)(\?|$)/;

/** True for an upgrade request to a stream. */
export const isStream = ({ url = '' }: IncomingMessage): boolean => PATH.test(url);

type Fetch = (request: Request, env: unknown) => Response | Promise<Response>;

/** What the app learns of an upgrade, and what it leaves. */
interface UpgradeEnv {
  incoming: IncomingMessage;
  upgrade: { accepted?: StreamRequest };
}

/** The app's `acceptStream` on Node. The answer only shows that the stream is accepted. */
export const acceptStream: AcceptStream = (c, request) => {
  const { upgrade } = c.env as Partial<UpgradeEnv>;
  if (upgrade) upgrade.accepted = request;
  return new Response(null, { status: upgrade ? 200 : 426 });
};

/** Serves the streams of clients on `server`. The returned function closes all of them. */
export function serveStreams(
  server: Pick<EventEmitter, 'on'>,
  fetch: Fetch,
  deps: StreamSessionDeps,
  admitted: (stream: Duplex) => void,
): () => void {
  const resumable = new ResumableStreams(MAX_RESUMABLE.node);
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
    // ws hands over one frame in a turn of the event loop. By default it hands over all that have arrived,
    // and one read of a connection may be 2 MiB: 300,000 frames of one byte.
    allowSynchronousEvents: false,
    maxFragments: MAX_FRAGMENTS,
    handleProtocols: () => STREAM_SUBPROTOCOL,
  });
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    if (!isStream(request)) return;
    stream.on('error', () => stream.destroy());
    void admit(request, fetch).then(({ answer, accepted }) => {
      if (!accepted) return refuseUpgrade(stream, answer);
      admitted(stream);
      sockets.handleUpgrade(request, stream, head, (socket) =>
        serve(socket, stream, (client) => new StreamConnection(client, accepted, deps, resumable)),
      );
    });
  });
  return () => {
    for (const socket of sockets.clients) socket.close(1012, 'control plane restarts');
    sockets.close();
  };
}

async function admit(
  incoming: IncomingMessage,
  fetch: Fetch,
): Promise<{ answer: Response; accepted: StreamRequest | undefined }> {
  const headers = new Headers();
  for (let n = 0; n + 1 < incoming.rawHeaders.length; n += 2)
    headers.append(incoming.rawHeaders[n] ?? '', incoming.rawHeaders[n + 1] ?? '');
  const host = headers.get('host') ?? 'localhost';
  const env: UpgradeEnv = { incoming, upgrade: {} };
  try {
    const answer = await fetch(new Request(new URL(incoming.url ?? '/', `http://${host}`), { headers }), env);
    return { answer, accepted: env.upgrade.accepted };
  } catch {
    return { answer: new Response(null, { status: 400 }), accepted: undefined };
  }
}

function serve(socket: WebSocket, stream: Duplex, connect: (client: ClientSocket) => StreamConnection): void {
  const connection = connect({
    send: (data) => {
      // What a turn sends leaves in one write.
      if (stream.writableCorked === 0) {
        stream.cork();
        process.nextTick(() => stream.uncork());
      }
      socket.send(data);
    },
    close: (code, reason) => socket.close(code, reason),
  });
  socket.on('message', (data: Buffer, isBinary) => {
    connection.receive(isBinary ? data : data.toString('utf8'));
    if (connection.isAgentBehind) waitForAgent(socket, connection);
  });
  socket.on('close', (code) => connection.closed(code));
  socket.on('error', () => socket.terminate());
}

/**
 * Reads nothing of the client meanwhile (H785). Credit bounds bytes, but frames of one byte, and those
 * without any, would take hundreds of times as much memory.
 */
function waitForAgent(socket: WebSocket, connection: StreamConnection): void {
  if (socket.isPaused) return;
  socket.pause();
  const check = () => {
    if (connection.isAgentBehind && socket.readyState === socket.OPEN)
      setTimeout(check, BEHIND_CHECK_MS).unref();
    else socket.resume();
  };
  setTimeout(check, BEHIND_CHECK_MS).unref();
}
