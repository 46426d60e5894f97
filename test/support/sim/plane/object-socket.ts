/**
 * A socket between two objects, as workerd has it: what is sent arrives in order, and the end of either
 * object closes it for the other one a moment later.
 */
import type {
  ObjectSocket,
  SocketEvents,
} from '../../../../control-plane/coordinator/connections/object-socket.ts';
import type { Process, World } from '../world/time.ts';

const LATENCY_MS = 0.25;
const LOOK_MS = 1_000;

export class ObjectSockets {
  /** The ends, each for the object that uses it. */
  readonly reader: ObjectSocket;
  readonly server: ObjectSocket;
  readonly #world: World;
  readonly #ends: { process: Process; events(): SocketEvents | undefined }[];
  #served: SocketEvents | undefined;
  #isOpen = true;

  constructor(world: World, reader: Process, server: Process, readerEvents: SocketEvents) {
    this.#world = world;
    this.#ends = [
      { process: reader, events: () => readerEvents },
      { process: server, events: () => this.#served },
    ];
    const close = () => this.close();
    this.reader = { send: (data) => this.#arrives(1, data), close };
    this.server = { send: (data) => this.#arrives(0, data), close };
    this.#look();
  }

  /** What to do when something arrives at the server's end. Called before anything can. */
  serve(events: SocketEvents): void {
    this.#served = events;
    if (!this.#isOpen) events.closed();
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const { process, events } of this.#ends)
      this.#world.after(LATENCY_MS, () => events()?.closed(), process);
  }

  /** What was sent before a close still arrives. */
  #arrives(end: 0 | 1, data: string | Uint8Array): void {
    const { process, events } = this.#ends[end] ?? {};
    if (this.#isOpen) this.#world.after(LATENCY_MS, () => events?.()?.message(data), process);
  }

  #look(): void {
    if (this.#ends.some(({ process }) => !process.alive)) this.close();
    else if (this.#isOpen) this.#world.after(LOOK_MS, () => this.#look());
  }
}
