/** Gives connections and requests of a server on Node their places, and closes those that have none. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from '../coordinator/ports.ts';
import { networkOf } from '../core/accounts/network.ts';
import type { Limit } from '../core/metrics/limits.ts';
import { OperationError } from '../core/model/errors.ts';
import { lastForwarded } from './address.ts';
import { type ConnectionLimits, ConnectionPlaces, type Excess } from './connection-places.ts';
import { unreadBeyond } from './unread-answers.ts';

/** While requests arrive, unread answers are counted this often. */
const UNREAD_CHECK_MS = 100;
/** What an unread answer takes at least: its stream, its compression, and the page of a list that is next. */
const MIN_UNREAD_BYTES = 256 * 1024;

export interface ConnectionSettings {
  limits: ConnectionLimits;
  /** A body may take this long before another request may take the place of its request. */
  bodyGraceMs: number;
  /** Refused connections and requests are reported this long after the first of them. */
  reportMs: number;
  /** True if a proxy reports the client's address in X-Forwarded-For. */
  trustsProxy: boolean;
  log: Logger;
  /** Answers on a socket that has no request, and closes it. */
  answer: (socket: Socket, error: OperationError) => void;
}

interface Place {
  address: string | undefined;
  socket: Socket;
  /** The request whose body may still arrive. */
  receiving: IncomingMessage | undefined;
  receivingSinceMs: number;
}

export class NodeConnections {
  readonly #settings: ConnectionSettings;
  readonly #places: ConnectionPlaces<Place>;
  readonly #placeOf = new WeakMap<Duplex, Place>();
  /**
   * Where the body of a request may still arrive, oldest first. Has no requests itself: with each of them the
   * outdated parts of a map would keep what was made for others.
   */
  readonly #receiving = new Set<Place>();
  readonly #refused = { closed: 0, answered: 0 };
  #report: NodeJS.Timeout | undefined;
  #unreadCheck: NodeJS.Timeout | undefined;

  constructor(server: Server, settings: ConnectionSettings) {
    this.#settings = settings;
    this.#places = new ConnectionPlaces(settings.limits);
    server.on('connection', (socket: Socket) => this.#open(socket));
    server.on('upgrade', ({ socket }: IncomingMessage) => {
      const place = this.#placeOf.get(socket);
      if (place) this.#places.admit(place);
    });
    server.on('timeout', (socket: Socket) => {
      // A stream may be silent. A peer that reads nothing of what it was sent may not stay.
      const place = this.#placeOf.get(socket);
      if (socket.writableLength > 0 || !place || this.#places.isWaiting(place)) socket.destroy();
    });
  }

  /** For the metrics. */
  get limits(): Limit[] {
    const { connections, perAddress, forAgents, unreadBytes } = this.#settings.limits;
    const { size, requestCount, mostOfOneAddress } = this.#places;
    const unread = this.#unread().reduce((sum, { bytes }) => sum + bytes, 0);
    return [
      {
        name: 'connections',
        setting: 'BERTH_LIMITS.connections',
        used: size,
        limit: connections,
      },
      {
        name: 'requests',
        setting: 'BERTH_LIMITS.connectionsForAgents',
        used: requestCount,
        limit: connections - forAgents,
      },
      {
        name: 'connections_of_one_address',
        setting: 'BERTH_LIMITS.connectionsPerAddress',
        used: mostOfOneAddress,
        limit: perAddress,
      },
      {
        name: 'unread_answers',
        setting: 'BERTH_LIMITS.unreadBytes',
        unit: 'bytes',
        used: unread,
        limit: unreadBytes,
      },
    ];
  }

  /** Returns why this request is refused, or undefined after it was given a place. */
  begin(request: IncomingMessage, response: ServerResponse): OperationError | undefined {
    const place = this.#placeOf.get(request.socket);
    if (!place) return undefined;
    this.#unreadCheck ??= setTimeout(() => this.#closeUnread(), UNREAD_CHECK_MS).unref();
    const address = this.#clientOf(request);
    let excess = this.#places.begin(place, address);
    if (excess === 'connections' && this.#closeSlowBody()) excess = this.#places.begin(place, address);
    if (excess) {
      this.#count('answered');
      return this.#refusalOf(excess, 'requests');
    }
    if (request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined)
      this.#receive(place, request);
    response.once('close', () => {
      if (place.receiving === request) this.#received(place);
      this.#places.end(place);
    });
    return undefined;
  }

  /** The refusal of a request that is one too many of those that wait on its connection. */
  refuseExcess(): OperationError {
    this.#count('answered');
    const text = `Too many requests on this connection: at most ${this.#settings.limits.pipelined} may wait for the answers to earlier ones.`;
    return new OperationError('too-many', text, { retryAfterS: 1 });
  }

  /** The connection is an agent's from now on: it is closed for no other one. */
  keep(stream: Duplex): void {
    const place = this.#placeOf.get(stream);
    if (place) this.#places.keep(place);
  }

  #open(socket: Socket): void {
    const peer = this.#settings.trustsProxy ? undefined : socket.remoteAddress;
    const address = peer === undefined ? undefined : networkOf(peer);
    const place: Place = { socket, address, receiving: undefined, receivingSinceMs: 0 };
    this.#placeOf.set(socket, place);
    socket.once('close', () => {
      this.#received(place);
      this.#places.close(place);
    });
    const excess = this.#places.open(place);
    if (!excess) return;
    this.#count('closed');
    const closed = excess.closed.socket;
    // Between requests, an answer would be taken for that to the next one.
    if (closed.bytesRead === 0 || closed.bytesWritten > 0) closed.destroy();
    else this.#settings.answer(closed, this.#refusalOf(excess.excess, 'connections'));
  }

  /** A connection has one body at a time. */
  #receive(place: Place, request: IncomingMessage): void {
    this.#received(place);
    place.receiving = request;
    place.receivingSinceMs = performance.now();
    this.#receiving.add(place);
  }

  #received(place: Place): void {
    place.receiving = undefined;
    this.#receiving.delete(place);
  }

  /** Closes the request whose body has been arriving for the longest time. False if none is slow. */
  #closeSlowBody(): boolean {
    for (const place of this.#receiving) {
      const isComplete = place.receiving?.complete ?? true;
      if (!isComplete && performance.now() - place.receivingSinceMs < this.#settings.bodyGraceMs)
        return false;
      this.#received(place);
      if (isComplete) continue;
      this.#places.close(place);
      this.#settings.answer(place.socket, this.#refusalOf('connections', 'requests'));
      return true;
    }
    return false;
  }

  /** Closes connections whose clients do not read their answers, if those take too much memory. */
  #closeUnread(): void {
    this.#unreadCheck = undefined;
    const unread = this.#unread();
    for (const { socket } of unreadBeyond(unread, this.#settings.limits.unreadBytes)) {
      this.#count('closed');
      socket.destroy();
    }
    if (unread.length > 0) this.#unreadCheck = setTimeout(() => this.#closeUnread(), UNREAD_CHECK_MS).unref();
  }

  /** Answers that their clients have not read yet. */
  #unread() {
    return [...this.#places.requests()].flatMap(([{ socket }, address]) =>
      socket.writableLength > 0
        ? [{ socket, address, bytes: Math.max(socket.writableLength, MIN_UNREAD_BYTES) }]
        : [],
    );
  }

  #clientOf(request: IncomingMessage): string {
    const peer = request.socket.remoteAddress ?? '';
    if (!this.#settings.trustsProxy) return this.#placeOf.get(request.socket)?.address ?? networkOf(peer);
    const forwarded = request.headers['x-forwarded-for'];
    return networkOf(lastForwarded(forwarded?.toString()) ?? peer);
  }

  #refusalOf(excess: Excess, what: 'connections' | 'requests'): OperationError {
    const { connections, perAddress, forAgents } = this.#settings.limits;
    const retry = { retryAfterS: 1 };
    if (excess === 'address') {
      const text = `Too many ${what} from this address: at most ${perAddress}. Try again when some have ended.`;
      return new OperationError('too-many', text, retry);
    }
    const limit = what === 'requests' ? connections - forAgents : connections;
    return new OperationError(
      'unavailable',
      `Too many ${what} at the same time: at most ${limit}. Try again.`,
      retry,
    );
  }

  /** Reports in one line what happened within some seconds. */
  #count(kind: 'closed' | 'answered'): void {
    this.#refused[kind]++;
    this.#report ??= setTimeout(() => {
      this.#settings.log('connections.refused', { ...this.#refused, open: this.#places.size });
      Object.assign(this.#refused, { closed: 0, answered: 0 });
      this.#report = undefined;
    }, this.#settings.reportMs).unref();
  }
}
