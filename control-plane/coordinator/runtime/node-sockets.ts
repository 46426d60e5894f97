/**
 * Agents' sockets on Node: accepts upgrades at the connect path and passes frames to the coordinator.
 */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import { CONNECT_PATH } from '../../../shared/protocol/enrolment.ts';
import type { VerifiedProof } from '../../core/hosts/registration.ts';
import type { Agents } from '../agents/agents.ts';
import type { AgentConnection } from '../connections/agent-connection.ts';
import type { AgentSocket } from '../ports.ts';
import { refuseUpgrade } from './refuse-upgrade.ts';

/** Limit for one frame. The longest one is an agent's hello, which lists every container of its host. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** While an agent has too much unread, its connection is looked at this often. */
const UNREAD_CHECK_MS = 100;

/**
 * True for an agent's upgrade request. A path such as `//` is not a URL; an exception here would end the
 * process.
 */
export const isConnect = ({ url = '' }: IncomingMessage): boolean =>
  URL.parse(url, 'http://berth')?.pathname === CONNECT_PATH;

/** What the sockets of agents require of the coordinator. */
type Sessions = Pick<Agents, 'admit' | 'connect'>;

/** Authenticates upgrade requests of agents. */
export interface Gatekeeper {
  /** Nothing is read of an agent that leaves more than this unread (P153). */
  maxUnreadBytes: number;
  /** Resolves to the proof of the host; rejects if the request proves none. */
  admit(authorization: string | undefined): Promise<VerifiedProof>;
  /** The address of an agent, as far as it is known. */
  addressOf?(request: IncomingMessage): string | undefined;
  /** Called with the connection of each admitted agent. */
  admitted?: (stream: Duplex) => void;
  /** The response to a rejected request, for any error. */
  refusal(error: unknown): Response;
}

/** Serves agents on `server`. The returned function closes all their connections. */
export function serveAgents(
  server: Pick<EventEmitter, 'on'>,
  agents: Sessions,
  gatekeeper: Gatekeeper,
): () => void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
  });
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    if (!isConnect(request)) return;
    stream.on('error', () => stream.destroy());
    void admit(request.headers.authorization, agents, gatekeeper).then((admitted) => {
      if (admitted instanceof Response) return refuseUpgrade(stream, admitted);
      gatekeeper.admitted?.(stream);
      sockets.handleUpgrade(request, stream, head, (socket) =>
        serveAgent(socket, stream, gatekeeper.maxUnreadBytes, (agentSocket) =>
          agents.connect(agentSocket, admitted.hostId, gatekeeper.addressOf?.(request)),
        ),
      );
    });
  });
  return () => {
    for (const socket of sockets.clients) closeSocket(socket, 1012, 'control plane restarts');
    sockets.close();
  };
}

/** Never rejects: a refusal is a response. */
async function admit(
  authorization: string | undefined,
  agents: Sessions,
  gatekeeper: Gatekeeper,
): Promise<VerifiedProof | Response> {
  try {
    const proof = await gatekeeper.admit(authorization);
    agents.admit(proof);
    return proof;
  } catch (error) {
    return gatekeeper.refusal(error);
  }
}

function serveAgent(
  socket: WebSocket,
  stream: Duplex,
  maxUnreadBytes: number,
  connect: (agentSocket: AgentSocket) => AgentConnection,
): void {
  const pausing = new Pausing(socket, maxUnreadBytes);
  const connection = connect({
    send: (data) => {
      corkForTurn(stream);
      socket.send(data);
    },
    close: (code, reason) => closeSocket(socket, code, reason),
    pause: (durationMs) => pausing.pause(durationMs),
    unsentBytes: () => socket.bufferedAmount,
  });
  socket.on('message', (data: Buffer, isBinary) => {
    connection.receive(isBinary ? data : data.toString('utf8'));
    pausing.checkUnread();
  });
  socket.on('close', () => connection.closed());
  socket.on('error', () => socket.terminate());
}

/** Reads again, if that was paused: the connection ends when the agent's answer has arrived. */
function closeSocket(socket: WebSocket, code: number, reason: string): void {
  socket.close(code, reason);
  socket.resume();
}

/** Stops reading from an agent for a time, and while it leaves too much unread. */
class Pausing {
  readonly #socket: WebSocket;
  readonly #maxUnreadBytes: number;
  #untilMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: WebSocket, maxUnreadBytes: number) {
    this.#socket = socket;
    this.#maxUnreadBytes = maxUnreadBytes;
  }

  checkUnread(): void {
    if (this.#socket.bufferedAmount > this.#maxUnreadBytes) this.pause(UNREAD_CHECK_MS);
  }

  pause(durationMs: number): void {
    this.#untilMs = Math.max(this.#untilMs, performance.now() + durationMs);
    if (this.#timer || this.#socket.readyState !== WebSocket.OPEN) return;
    this.#socket.pause();
    this.#wait();
  }

  #wait(): void {
    const waitMs = Math.max(1, this.#untilMs - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.checkUnread();
      if (this.#timer) return;
      if (performance.now() < this.#untilMs) this.#wait();
      else this.#socket.resume();
    }, waitMs).unref();
  }
}

/** Sends all frames of a turn of the event loop in one write, whichever clients they stem from. */
function corkForTurn(stream: Duplex): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  setImmediate(() => stream.uncork());
}
