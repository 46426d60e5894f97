/** Owns the agents' sockets on Node: takes the upgrade at the connect path and feeds the coordinator's session. */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { CONNECT_PATH, isAgent } from './agent-auth.ts';
import type { Coordinator } from './coordinator.ts';

/** An agent's hello lists every container of its host; nothing it sends is longer. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/** Whether an upgrade is an agent's. A path such as `//` is no URL; what is thrown here would end the process. */
export const isConnect = ({ url = '' }: IncomingMessage): boolean =>
  URL.parse(url, 'http://berth')?.pathname === CONNECT_PATH;

/** Serves agents on `server`; the returned function ends all their connections. */
export function serveAgents(server: Server, coordinator: Coordinator, joinToken: string): () => void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
  });
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    stream.on('error', () => stream.destroy());
    if (!isConnect(request)) return refuse(stream, '404 Not Found');
    if (!isAgent(request.headers.authorization, joinToken)) return refuse(stream, '401 Unauthorized');
    sockets.handleUpgrade(request, stream, head, (socket) => feed(socket, stream, coordinator));
  });
  return () => {
    for (const socket of sockets.clients) socket.close(1012, 'control plane restarts');
    sockets.close();
  };
}

function feed(socket: WebSocket, stream: Duplex, coordinator: Coordinator): void {
  const session = coordinator.connect({
    send: (data) => {
      gather(stream);
      socket.send(data);
    },
    close: (code, reason) => socket.close(code, reason),
  });
  socket.on('message', (data: Buffer, isBinary) => session.receive(isBinary ? data : data.toString('utf8')));
  socket.on('close', () => session.closed());
  socket.on('error', () => socket.terminate());
}

/** All that a turn has for an agent goes out in one write. */
function gather(stream: Duplex): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

function refuse(stream: Duplex, status: string): void {
  stream.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}
