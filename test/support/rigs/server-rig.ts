/** An HTTP server with limits of its own, whose answers a test holds back, and clients of many addresses. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ConnectionLimits } from '../../../control-plane/guard/connection-places.ts';
import type { NodeConnections } from '../../../control-plane/guard/node-connections.ts';
import { variants } from '../../../control-plane/http/variants/choose.ts';
import { httpServer, type ServerLimits } from '../../../control-plane/server/node-server.ts';
import { WIDE_LIMITS } from '../fixtures/connection-limits.ts';
import { listenOn, portOf } from '../hosts/port.ts';
import { eventually } from '../tools/eventually.ts';

/** A request whose head does not end. */
export const HALF = 'GET /half HTTP/1.1\r\nHost: b';
export const GET = 'GET /now HTTP/1.1\r\nHost: berth\r\nConnection: close\r\n\r\n';
/** A request whose answer the test holds back. */
export const HELD = 'GET /held HTTP/1.1\r\nHost: berth\r\n\r\n';
export const SLOW_BODY = 'POST /body HTTP/1.1\r\nHost: berth\r\nContent-Length: 9\r\n\r\nabc';

export interface Setup extends Partial<ConnectionLimits> {
  trustsProxy?: boolean;
  /** Without them, no test reaches a limit of time. */
  limits?: Partial<ServerLimits>;
  /** By default, the answers of the rig. */
  serve?: (request: Request) => Promise<Response>;
}

const LIMITS: ServerLimits = {
  ...{ headMs: 600_000, requestMs: 600_000, checkMs: 5, quietMs: 60_000, bodyGraceMs: 0 },
  ...{ stallMs: 600_000, reportMs: 100 },
};

export class ServerRig {
  readonly server: Server;
  readonly connections: NodeConnections;
  /** Requests that wait for their answers, in order. */
  readonly held: ((response: Response) => void)[] = [];
  /** How many bodies the server has begun to read. */
  bodies = 0;
  readonly events: [string, Record<string, unknown> | undefined][] = [];
  readonly sockets: Socket[] = [];
  readonly upgraded: Duplex[] = [];

  private constructor({ trustsProxy = false, limits, serve, ...connectionLimits }: Setup) {
    const fetch = serve ?? ((request: Request) => this.#serve(request));
    ({ server: this.server, connections: this.connections } = httpServer(fetch, {
      variant: variants.B,
      isUpgrade: () => true,
      connectionLimits: { ...WIDE_LIMITS, ...connectionLimits },
      trustsProxy,
      log: (event, fields) => this.events.push([event, fields]),
      limits: { ...LIMITS, ...limits },
    }));
  }

  get port(): number {
    return portOf(this.server);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  static async start(setup: Setup): Promise<ServerRig> {
    const rig = new ServerRig(setup);
    await listenOn(rig.server);
    return rig;
  }

  /** Connects from a loopback address and sends `bytes`. */
  async send(from: string, bytes: string): Promise<Socket> {
    const accepted = once(this.server, 'connection');
    const socket = connect({ port: this.port, host: '127.0.0.1', localAddress: from });
    this.sockets.push(socket);
    socket.on('error', () => {});
    const [peer] = (await accepted) as [Socket];
    socket.write(bytes);
    // The server has read all of it, unless it has closed the connection.
    await eventually(() => peer.bytesRead >= bytes.length || peer.destroyed);
    return socket;
  }

  async close(): Promise<void> {
    for (const socket of [...this.sockets, ...this.upgraded]) socket.destroy();
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  async #serve(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/held') return new Promise((done) => this.held.push(done));
    if (pathname === '/body') {
      this.bodies++;
      return new Response(await request.text());
    }
    if (pathname === '/large') return new Response(new Uint8Array(64 * 2 ** 20));
    return new Response('ok');
  }
}

export const isOpen = (socket: Socket): boolean => !socket.closed && !socket.readableEnded;
