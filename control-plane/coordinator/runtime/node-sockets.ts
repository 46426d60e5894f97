/**
 * Agents' sockets on Node: accepts upgrades at the connect path and passes frames to the coordinator's
 * sessions.
 */
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { CONNECT_PATH } from '../../../shared/protocol/enrolment.ts';
import type { VerifiedProof } from '../../core/hosts/registration.ts';
import type { Coordinator } from '../coordinator.ts';
import type { AgentSocket } from '../ports.ts';

/** Limit for one frame. The longest one is an agent's hello, which lists every container of its host. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/**
 * True for an agent's upgrade request. A path such as `//` is not a URL; an exception here would end the
 * process.
 */
export const isConnect = ({ url = '' }: IncomingMessage): boolean =>
  URL.parse(url, 'http://berth')?.pathname === CONNECT_PATH;

/** Authenticates upgrade requests of agents. */
export interface Gatekeeper {
  /** Resolves to the proof of the host; rejects if the request proves none. */
  admit(authorization: string | undefined): Promise<VerifiedProof>;
  /** Called with the connection of each admitted agent. */
  admitted?: (stream: Duplex) => void;
  /** The response to a rejected request, for any error. */
  refusal(error: unknown): Response;
}

/** Serves agents on `server`. The returned function closes all their connections. */
export function serveAgents(server: Server, coordinator: Coordinator, gatekeeper: Gatekeeper): () => void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
  });
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    stream.on('error', () => stream.destroy());
    if (!isConnect(request)) return void refuse(stream, new Response(null, { status: 404 }));
    void admit(request.headers.authorization, coordinator, gatekeeper).then((admitted) => {
      if (admitted instanceof Response) return refuse(stream, admitted);
      gatekeeper.admitted?.(stream);
      sockets.handleUpgrade(request, stream, head, (socket) =>
        serveAgent(socket, stream, coordinator, admitted.hostId),
      );
    });
  });
  return () => {
    for (const socket of sockets.clients) socket.close(1012, 'control plane restarts');
    sockets.close();
  };
}

/** Never rejects: a refusal is a response. */
async function admit(
  authorization: string | undefined,
  coordinator: Coordinator,
  gatekeeper: Gatekeeper,
): Promise<VerifiedProof | Response> {
  try {
    const proof = await gatekeeper.admit(authorization);
    coordinator.admit(proof);
    return proof;
  } catch (error) {
    return gatekeeper.refusal(error);
  }
}

function serveAgent(socket: WebSocket, stream: Duplex, coordinator: Coordinator, hostId: number): void {
  const agentSocket: AgentSocket = {
    send: (data) => {
      corkUntilNextTick(stream);
      socket.send(data);
    },
    close: (code, reason) => socket.close(code, reason),
  };
  const session = coordinator.connect(agentSocket, hostId);
  socket.on('message', (data: Buffer, isBinary) => session.receive(isBinary ? data : data.toString('utf8')));
  socket.on('close', () => session.closed());
  socket.on('error', () => socket.terminate());
}

/** Sends all frames of a turn to an agent in one write. */
function corkUntilNextTick(stream: Duplex): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/** Closes the connection after the response, even if the client leaves its end open. */
async function refuse(stream: Duplex, response: Response): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer());
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const head = `HTTP/1.1 ${response.status} ${STATUS_CODES[response.status]}\r\n${headers}`;
  stream.write(`${head}connection: close\r\ncontent-length: ${body.length}\r\n\r\n`);
  stream.end(body, () => stream.destroy());
}
