/**
 * A client of a stream in a simulation: the real session of the control plane, on a socket that delivers a
 * moment later. It sends, reads, stalls, ends and leaves as its random choices state.
 */

import { NO_CLOSE } from '../../../../control-plane/coordinator/streams/client-end.ts';
import { ResumableStreams } from '../../../../control-plane/coordinator/streams/resumable-streams.ts';
import { StreamConnection } from '../../../../control-plane/coordinator/streams/stream-connection.ts';
import {
  type ServerMessage,
  type StreamOpening,
  serverSchema,
} from '../../../../shared/streams/client-messages.ts';
import { MAX_WINDOW_BYTES } from '../../../../shared/streams/targets.ts';
import { bytesOf, clientSalt } from '../checks/streams.ts';
import { Client, type ClientOptions } from './client.ts';

const LATENCY_MS = 1;
const MAX_PAUSE_MS = 3_000;
const MAX_SENT_BYTES = 400_000;
const MAX_FRAME_BYTES = 100_000;
const COMPLETE = 1000;

/** The first frame of a client, which names the stream. */
const openings: Partial<Record<ClientOptions['kind'], (port: number, bytes: number) => StreamOpening>> = {
  tcp: (port) => ({ type: 'forward', port }),
  exec: (port) => ({ type: 'exec', words: [String(port)] }),
  'files-out': (port) => ({ type: 'files-out', path: `/${port}`, form: 'file' }),
  'files-in': (port, bytes) => ({ type: 'files-in', path: `/${port}`, name: 'file', bytes }),
};

export class StreamClient extends Client {
  readonly #connection: StreamConnection;
  readonly #isGreedy: boolean;
  readonly #stalls: boolean;
  readonly #wanted: number;
  /** The size of the file that it copies, which may be wrong. */
  readonly #stated: number;
  #credit = 0;
  #sent = 0;
  #received = 0;
  /** Bytes before the last mark that was returned. */
  #returned = 0;
  #isClosed = false;
  #hasOutputEnded = false;
  #reason: string | undefined;

  /** Must be called in the process of the control plane. */
  constructor(options: ClientOptions) {
    super(options);
    const { check, chances, port, request, deps, kind } = options;
    this.#isGreedy = chances.chance(0.06);
    this.#stalls = chances.chance(0.1);
    const most = kind === 'files-out' ? 0 : MAX_SENT_BYTES;
    this.#wanted = this.#isGreedy ? most : chances.between(0, most);
    this.#stated = this.#wanted + (chances.chance(0.1) ? 1 : 0);
    const socket = {
      send: (data: string | Uint8Array) => this.#later(() => this.#arrives(data)),
      close: (code: number) => {
        this.over();
        this.#later(() => this.#closes(code));
      },
    };
    const withPlace = { ...deps, place: this.place(deps.place) };
    this.#connection = new StreamConnection(socket, request, withPlace, new ResumableStreams(1));
    check.began(this);
    this.#toServer(JSON.stringify(openings[kind]?.(port, this.#stated)));
    this.begin();
  }

  #arrives(data: string | Uint8Array): void {
    if (this.endedMs !== null) return;
    const { world } = this.options;
    if (this.#isClosed) world.violate(`stream ${this.port} goes on after its close`);
    if (typeof data === 'string') this.#obeys(serverSchema.parse(JSON.parse(data)));
    else this.#takes(data);
  }

  #takes(data: Uint8Array): void {
    const { world, check } = this.options;
    if (this.#hasOutputEnded) world.violate(`stream ${this.port} has bytes after its end`);
    // Without a terminal each chunk begins with its source (P254).
    const bytes = this.kind === 'exec' ? data.subarray(1) : data;
    check.received(this.port, this.#received, bytes, this.#received + bytes.length - this.#returned);
    this.#received += bytes.length;
  }

  #obeys(message: ServerMessage): void {
    const { check, chances, world } = this.options;
    if (message.type === 'opened') {
      check.opened(this);
      this.#credit = message.credit;
      void this.#sends();
    } else if (message.type === 'credit') this.#addCredit(message.bytes);
    else if (message.type === 'mark') this.#returns(message.mark, this.#received);
    else if (message.type === 'reset') this.#reason = message.message;
    else {
      this.#hasOutputEnded = true;
      if (this.kind === 'files-in') check.copied(this.port, this.#stated);
      else check.complete(this.port, this.#received);
      if (chances.chance(0.8)) world.after(chances.between(1, MAX_PAUSE_MS), () => this.#ends());
    }
  }

  #returns(mark: string, upTo: number): void {
    const { world, chances } = this.options;
    if (this.#stalls) return;
    world.after(chances.between(1, chances.chance(0.1) ? 20_000 : 50), () => {
      this.#returned = Math.max(this.#returned, upTo);
      this.#toServer(JSON.stringify({ type: 'read', mark }));
    });
  }

  #addCredit(bytes: number): void {
    this.#credit += bytes;
    if (this.#credit > MAX_WINDOW_BYTES)
      this.options.world.violate(`stream ${this.port}: the client has a credit of ${this.#credit} bytes`);
  }

  async #sends(): Promise<void> {
    const { world, chances } = this.options;
    while (this.endedMs === null && this.#sent < this.#wanted) {
      const frame = Math.min(this.#credit, chances.between(1, MAX_FRAME_BYTES));
      const length = Math.min(this.#isGreedy ? this.#credit + 1 : frame, this.#wanted - this.#sent);
      if (length > 0) {
        this.#credit -= length;
        this.#toServer(bytesOf(clientSalt(this.port), this.#sent, length));
        this.#sent += length;
      }
      await world.pause(chances.between(1, MAX_PAUSE_MS));
    }
    if (this.kind === 'files-in' || chances.chance(0.3)) this.#ends();
  }

  #ends(): void {
    if (this.#sent >= this.#wanted) this.#toServer('{"type":"end"}');
  }

  protected leaves(): void {
    if (this.endedMs !== null) return;
    this.over();
    this.options.world.enter(this.process, () => this.process.alive && this.#connection.closed(NO_CLOSE));
    this.options.check.gone(this, 'left by its client');
  }

  #closes(code: number): void {
    if (this.#isClosed) this.options.world.violate(`stream ${this.port} is closed twice`);
    this.#isClosed = true;
    if (this.endedMs !== null) return;
    const isComplete = code === COMPLETE && this.#hasOutputEnded;
    this.options.check.ended(this, this.#reason ?? (isComplete ? undefined : ''));
    this.options.world.enter(this.process, () => this.process.alive && this.#connection.closed(NO_CLOSE));
  }

  #toServer(data: string | Uint8Array): void {
    this.options.world.after(
      LATENCY_MS,
      () => {
        if (this.endedMs === null && !this.#isClosed) this.#connection.receive(data);
      },
      this.process,
    );
  }

  /** What a process has sent arrives even if it has ended. */
  #later(run: () => void): void {
    const { world } = this.options;
    world.after(LATENCY_MS, () => world.enter(undefined, run));
  }
}
