/**
 * Which connections and requests have a place when there are many: limits in all and by address, and a
 * reserve for agents (API-19). Pure. A connection waits until the head of a request has arrived, and again
 * after its answer.
 */

export interface PlaceLimits {
  /** Open connections in all, agents included. */
  connections: number;
  /** Connections of one address that wait for a request, and requests of one address under way. */
  perAddress: number;
  /** Places that requests leave to agents. */
  forAgents: number;
}

export interface ConnectionLimits extends PlaceLimits {
  /** Requests of one connection that may wait for the answers to earlier ones. */
  pipelined: number;
  /** Memory of answers that clients do not read. */
  unreadBytes: number;
}

/** The limit that a connection or request is beyond. */
export type Excess = 'connections' | 'address';

/** `address` is undefined if connections are not limited by address: a proxy's bring requests of many. */
export interface Connection {
  address: string | undefined;
}

export class ConnectionPlaces<C extends Connection> {
  readonly #limits: PlaceLimits;
  /** The address of the request under way on each, if there is one. */
  readonly #open = new Map<C, string | undefined>();
  /** The one that waits longest first. */
  readonly #waiting = new Set<C>();
  readonly #waitingByAddress = new Map<string, Set<C>>();
  readonly #requestsByAddress = new Map<string, number>();
  #requestCount = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#open.size;
  }

  get requestCount(): number {
    return this.#requestCount;
  }

  /** Connections that wait for a request, or requests under way, of the address that has most. */
  get mostOfOneAddress(): number {
    let most = 0;
    for (const { size } of this.#waitingByAddress.values()) most = Math.max(most, size);
    for (const count of this.#requestsByAddress.values()) most = Math.max(most, count);
    return most;
  }

  /** Returns the connection that loses its place to this one, or this one if there is no place for it. */
  open(connection: C): { closed: C; excess: Excess } | undefined {
    const { connections, perAddress } = this.#limits;
    const own = this.#waitingByAddress.get(connection.address ?? '');
    const [oldestOwn] = own && own.size >= perAddress ? own : [];
    const [oldest] = this.#open.size >= connections ? this.#waiting : [];
    const closed = oldestOwn ?? oldest ?? (this.#open.size >= connections ? connection : undefined);
    if (closed !== undefined) this.close(closed);
    if (closed !== connection) {
      this.#open.set(connection, undefined);
      this.#wait(connection);
    }
    return closed && { closed, excess: oldestOwn ? 'address' : 'connections' };
  }

  /** The head of a request from `address` has arrived. Returns the limit that the request is beyond. */
  begin(connection: C, address: string): Excess | undefined {
    const ofAddress = this.#requestsByAddress.get(address) ?? 0;
    if (ofAddress >= this.#limits.perAddress) return 'address';
    const hasRoom = this.#requestCount < this.#limits.connections - this.#limits.forAgents;
    if (!this.#open.has(connection) || !hasRoom) return 'connections';
    this.#requestsByAddress.set(address, ofAddress + 1);
    this.#requestCount++;
    this.#stopWaiting(connection);
    this.#open.set(connection, address);
    return undefined;
  }

  /** The answer to the request under way, if it had a place, has ended. */
  end(connection: C): void {
    const address = this.#open.get(connection);
    if (address === undefined) return;
    this.#release(address);
    this.#open.set(connection, undefined);
    this.#wait(connection);
  }

  /** The requests under way, those on the oldest connections first. */
  *requests(): Generator<[connection: C, address: string]> {
    for (const [connection, address] of this.#open) if (address !== undefined) yield [connection, address];
  }

  /** The head of an agent's connection has arrived. Until it is kept, it counts no longer for its address. */
  admit(connection: C): void {
    if (!this.#waiting.has(connection)) return;
    this.#stopWaiting(connection);
    this.#waiting.add(connection);
  }

  /** The connection now is an agent's, and keeps its place. */
  keep(connection: C): void {
    this.#stopWaiting(connection);
  }

  close(connection: C): void {
    const address = this.#open.get(connection);
    if (address !== undefined) this.#release(address);
    this.#open.delete(connection);
    this.#stopWaiting(connection);
  }

  isWaiting(connection: C): boolean {
    return this.#waiting.has(connection);
  }

  #wait(connection: C): void {
    this.#waiting.add(connection);
    const { address } = connection;
    if (address === undefined) return;
    const own = this.#waitingByAddress.get(address) ?? new Set();
    this.#waitingByAddress.set(address, own.add(connection));
  }

  #stopWaiting(connection: C): void {
    this.#waiting.delete(connection);
    const own = this.#waitingByAddress.get(connection.address ?? '');
    own?.delete(connection);
    if (own?.size === 0) this.#waitingByAddress.delete(connection.address ?? '');
  }

  #release(address: string): void {
    this.#requestCount--;
    const left = (this.#requestsByAddress.get(address) ?? 1) - 1;
    if (left > 0) this.#requestsByAddress.set(address, left);
    else this.#requestsByAddress.delete(address);
  }
}
