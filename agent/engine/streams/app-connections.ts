/**
 * Connections to the applications of containers. One that has carried a whole request and its answer serves
 * the next request of the same client for a short time, and of nobody else.
 */
import { Agent, type ClientRequest, type ClientRequestArgs } from 'node:http';
import type { Duplex } from 'node:stream';
import { endToEnd, type HeaderPair, type RequestHead } from '../../../shared/streams/app-heads.ts';
import { AnswerSocket } from './answer-socket.ts';
import { openSocket } from './socket-target.ts';

/** Where an application is. */
export interface AppPlace {
  /** The container's own address. */
  host: string;
  port: number;
}

/** Whose connection it is. */
export interface Owner {
  /** Id of the container: another one may get its address. */
  container: string;
  client: number;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** Servers close idle connections after 5 s, as Node's, or later. */
const IDLE_MS = 4_000;
/** Idle connections to one port for one client, and all connections beyond which none is kept. */
const MAX_IDLE = 16;
const MAX_KEPT = 512;

type Created = (error: Error | null, socket: Duplex) => void;

export class AppConnections extends Agent {
  declare readonly totalSocketCount: number;

  constructor() {
    super({ keepAlive: true, timeout: IDLE_MS, maxFreeSockets: MAX_IDLE });
  }

  override getName(options?: ClientRequestArgs): string {
    const { container, client, port } = options as ClientRequestArgs & AppPlace & Owner;
    return `${container} ${client} ${port}`;
  }

  override createConnection(options: ClientRequestArgs, created?: Created): undefined {
    connectAnew(options, created);
  }

  override keepSocketAlive(socket: Duplex): boolean {
    return this.totalSocketCount <= MAX_KEPT && (super.keepSocketAlive(socket) as unknown as boolean);
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    (socket as AnswerSocket).renew();
    super.reuseSocket(socket, request);
  }
}

/** A connection of its own for a request. */
export function connectAnew(place: ClientRequestArgs | AppPlace, created?: Created): undefined {
  const { host, port } = place as AppPlace;
  openSocket(host, port, CONNECT_TIMEOUT_MS, new AnswerSocket({ allowHalfOpen: true })).then(
    (socket) => created?.(null, socket),
    (error: Error) => created?.(error, undefined as never),
  );
}

/** Headers for the application, with `more` for the one connection, and a Host if there is none. */
export function headersFor(
  { headers, chunked }: RequestHead,
  { host, port }: AppPlace,
  more: readonly HeaderPair[],
): HeaderPair[] {
  const kept = endToEnd(headers);
  const hasHost = kept.some(([name]) => name.toLowerCase() === 'host');
  const own: HeaderPair[] = hasHost ? [] : [['host', `${host}:${port}`]];
  const coding: HeaderPair[] = chunked ? [['transfer-encoding', 'chunked']] : [];
  return [...own, ...kept, ...more, ...coding];
}
