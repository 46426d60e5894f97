/** Owns the agents' sockets on Node: takes the upgrade at the connect path and feeds the coordinator's session. */
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { CONNECT_PATH } from '../../../shared/protocol/enrolment.ts';
import type { VerifiedProof } from '../../core/hosts/registration.ts';
import type { Coordinator } from '../coordinator.ts';
import type { AgentSocket } from '../ports.ts';

/** An agent's hello lists every container of its host; nothing it sends is longer. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/** Whether an upgrade is an agent's. A path such as `//` is no URL; what is thrown here would end the process. */
export const isConnect = ({ url = '' }: IncomingMessage): boolean =>
  URL.parse(url, 'http://berth')?.pathname === CONNECT_PATH;

/** Tells which host an upgrade request is of. */
export interface Gatekeeper {
  /** Rejects where it is of none. */
  admit(authorization: string | undefined): Promise<VerifiedProof>;
  /** The answer to that, whatever the error. */
  refusal(error: unknown): Response;
}

/** Serves agents on `server`; the returned function ends all their connections. */
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

/** Never rejects. */
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

/** All that a turn has for an agent goes out in one write. */
function corkUntilNextTick(stream: Duplex): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/** Whoever is refused has no connection any more, also who leaves their end of it open. */
async function refuse(stream: Duplex, response: Response): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer());
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const head = `HTTP/1.1 ${response.status} ${STATUS_CODES[response.status]}\r\n${headers}`;
  stream.write(`${head}connection: close\r\ncontent-length: ${body.length}\r\n\r\n`);
  stream.end(body, () => stream.destroy());
}
