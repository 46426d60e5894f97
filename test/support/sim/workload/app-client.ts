/**
 * A request to an application in a simulation, or a WebSocket to one, by the real relay. The application
 * answers with bytes that only this stream has.
 */
import { AppRelay } from '../../../../control-plane/coordinator/apps/app-relay.ts';
import type { OpenPlacement } from '../../../../control-plane/coordinator/streams/placement.ts';
import { bytesOf, clientSalt } from '../checks/streams.ts';
import { ifAlive } from '../world/time.ts';
import { Client, type ClientOptions } from './client.ts';

const MAX_SENT_BYTES = 300_000;
const MAX_PIECE_BYTES = 100_000;
const MAX_PAUSE_MS = 1_000;
/** Between two reads of one that is slow. */
const SLOW_MS = 5_000;

export class AppClient extends Client {
  readonly #gone = new AbortController();
  readonly #wanted: number;
  #sent = 0;
  /** Ends the permit, which would else be kept for other requests. */
  #endPermit = () => {};

  /** Must be called in the process of the control plane. */
  constructor(options: ClientOptions) {
    super(options);
    const { check, chances, deps } = options;
    this.#wanted = chances.between(0, MAX_SENT_BYTES);
    this.readsSlowly = chances.chance(0.3);
    const obtain = this.place(deps.place);
    const relay = new AppRelay({ ...deps, place: async (...args) => this.#endable(await obtain(...args)) });
    check.began(this);
    this.begin();
    void this.#asks(relay);
  }

  protected leaves(): void {
    if (this.endedMs !== null) return;
    this.options.check.gone(this, 'left by its client');
    const { world } = this.options;
    world.enter(this.process, () => this.process.alive && this.#gone.abort());
    this.#ends();
  }

  async #asks(relay: AppRelay): Promise<void> {
    const { check, chances, request, port } = this.options;
    const isUpgrade = this.kind === 'websocket';
    const body = !isUpgrade && chances.chance(0.5) ? this.#body() : null;
    const { subscriber, serviceId, hostId, doer } = request;
    const asked = { subscriber, serviceId, hostId, doer, port, headers: [], path: `/${port}` };
    let reason: string | undefined;
    try {
      const method = body ? 'POST' : 'GET';
      const input = { body, isUpgrade, signal: this.#gone.signal };
      const { whole, read, pipe } = await relay.request({ ...asked, method }, input);
      check.opened(this);
      if (isUpgrade) void this.#talks(pipe);
      let received = 0;
      for (let bytes = whole ?? (await read()); bytes; bytes = whole ? undefined : await read()) {
        check.received(port, received, bytes, 0);
        received += bytes.length;
        if (this.readsSlowly) await this.#pause(SLOW_MS);
        else if (chances.chance(0.2)) await this.#pause();
      }
      check.complete(port, received);
      pipe.close();
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
    }
    check.ended(this, reason);
    this.#ends();
  }

  #body() {
    return {
      read: async () => {
        await this.#pause();
        return this.#sent < this.#wanted ? this.#next() : undefined;
      },
      cancel: () => {},
    };
  }

  async #talks(pipe: { write(bytes: Uint8Array): Promise<void> }): Promise<void> {
    try {
      while (this.#sent < this.#wanted) {
        await pipe.write(this.#next());
        await this.#pause();
      }
    } catch {
      // The stream is over, as its reader learns.
    }
  }

  #next(): Uint8Array {
    const length = Math.min(this.#wanted - this.#sent, this.options.chances.between(1, MAX_PIECE_BYTES));
    const bytes = bytesOf(clientSalt(this.port), this.#sent, length);
    this.#sent += length;
    return bytes;
  }

  #endable(placement: OpenPlacement): OpenPlacement {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#endPermit = () => resolve(undefined);
    const leave = () => {
      this.over();
      placement.leave();
    };
    return { next: () => Promise.race([placement.next(), promise]), leave };
  }

  #ends(): void {
    this.over();
    this.options.world.enter(this.process, () => this.process.alive && this.#endPermit());
  }

  #pause(mostMs = MAX_PAUSE_MS): Promise<void> {
    const { world, chances } = this.options;
    return ifAlive(this.process, world.pause(chances.between(1, mostMs)));
  }
}
