/**
 * A stream to a service, by the WebSocket of docs/streams.md: keeps to the credit in both directions. Never
 * touches the page.
 */
import type {
  ClientMessage,
  ServerMessage,
  StreamFirst,
  StreamOpening,
} from '../../../../shared/streams/client-messages.ts';
import type { TerminalSize } from '../../../../shared/streams/targets.ts';
import { StreamInput } from './stream-input.ts';

export const SUBPROTOCOL = 'berth.stream.v1';
const MAX_CHUNK_BYTES = 64 * 1024;
/** The most bytes in transit in one direction (H682). */
export const WINDOW_BYTES = 256 * 1024;
/** A mark comes every 25 s (H833). A connection on which nothing comes for so long is lost. */
export const SILENT_MS = 60_000;
/** The most input that waits for credit. A program that reads nothing must not fill the page. */
export const MAX_WAITING_BYTES = 2 ** 20;

/** The part of a WebSocket that a stream needs. */
export interface StreamSocket {
  readonly readyState: number;
  binaryType: string;
  addEventListener(type: 'open' | 'close', listener: () => void): void;
  addEventListener(type: 'message', listener: (event: { data: unknown }) => void): void;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code: number): void;
}

export type StreamEnd =
  | { exitCode: number }
  /** In words for people. */
  | { reason: string }
  /** The server has refused the WebSocket, or can't be reached: a browser does not know which. */
  | 'refused'
  | 'lost';

export interface StreamEvents {
  opened(): void;
  /** Must call `used` once the bytes are shown. Until then they count as in transit. */
  output(bytes: Uint8Array, used: () => void): void;
  /** Once, after all output. */
  ended(end: StreamEnd): void;
  /** The connection was lost, or could not be resumed: `resume` may be tried. Absent: the stream ends. */
  lost?(): void;
  resumed?(): void;
}

const OPEN = 1;
/** The code that ends a stream, and the one that leaves it to be resumed. */
const LEFT = 1000;
const SILENT = 4000;

export class ServiceStream {
  /** Undefined while the connection is lost. */
  #socket: StreamSocket | undefined;
  readonly #events: StreamEvents;
  readonly #input = new StreamInput();
  #credit = 0;
  #received = 0;
  #outputs = 0;
  #used = 0;
  /** Marks, each with the number of outputs before it. */
  readonly #marks: { mark: string; after: number }[] = [];
  #hasBegun = false;
  /** Whether the server has answered on the present socket. */
  #isConnected = false;
  #hasEnded = false;
  /** With which the stream can be resumed. */
  #session: string | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #progressed = () => {};

  /** `opening` is sent as soon as the socket is open. */
  constructor(socket: StreamSocket, opening: StreamOpening, events: StreamEvents) {
    this.#events = events;
    this.#connect(socket, opening);
  }

  /** Continues on another socket. */
  resume(socket: StreamSocket): void {
    if (this.#session === undefined || this.#hasEnded) return;
    this.#connect(socket, { type: 'resume', session: this.#session, received: this.#received });
  }

  /** Takes the present connection for lost. */
  drop(): void {
    const socket = this.#socket;
    this.#lost();
    socket?.close(SILENT);
  }

  /** False if so much waits already that these bytes were dropped. */
  write(bytes: Uint8Array<ArrayBuffer>): boolean {
    if (this.#hasEnded || this.#input.waiting + bytes.length > MAX_WAITING_BYTES) return false;
    this.#input.add(bytes);
    this.#sendWaiting();
    return true;
  }

  /** Resolves once no input waits for credit; to false if the stream is over. For one caller at a time. */
  async sent(): Promise<boolean> {
    while (this.#input.waiting > 0 && !this.#hasEnded)
      await new Promise<void>((resolve) => {
        this.#progressed = resolve;
      });
    return !this.#hasEnded;
  }

  /** No more input follows. Called once all of it was sent. */
  finish(): void {
    this.#send({ type: 'end' });
  }

  resize({ columns, rows }: TerminalSize): void {
    this.#send({ type: 'resize', columns, rows });
  }

  /** Ends the command or the copy. Nothing is reported any more. */
  close(): void {
    this.#hasEnded = true;
    this.#leave();
  }

  #connect(socket: StreamSocket, first: StreamFirst): void {
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('open', () => {
      if (socket !== this.#socket) return;
      this.#hasBegun = true;
      socket.send(JSON.stringify(first));
    });
    socket.addEventListener('message', ({ data }) => {
      if (socket !== this.#socket) return;
      if (typeof data === 'string') this.#take(JSON.parse(data) as ServerMessage);
      else this.#output(new Uint8Array(data as ArrayBuffer));
      this.#heard();
    });
    socket.addEventListener('close', () => {
      if (socket === this.#socket) this.#lost();
    });
  }

  #heard(): void {
    clearTimeout(this.#silence);
    if (this.#session === undefined || this.#hasEnded) return;
    this.#silence = setTimeout(() => this.drop(), SILENT_MS);
  }

  #lost(): void {
    if (this.#hasEnded) return;
    clearTimeout(this.#silence);
    if (this.#session === undefined || !this.#events.lost) {
      this.#end(this.#hasBegun ? 'lost' : 'refused');
      return;
    }
    this.#socket = undefined;
    this.#isConnected = false;
    this.#events.lost();
  }

  #take(message: ServerMessage): void {
    switch (message.type) {
      case 'opened':
        this.#isConnected = true;
        this.#session = message.session;
        this.#grant(message.credit);
        this.#events.opened();
        this.#sendWaiting();
        break;
      case 'resumed':
        this.#isConnected = true;
        this.#input.rewind(message.taken);
        this.#credit = message.credit;
        this.#events.resumed?.();
        this.#sendWaiting();
        break;
      case 'credit':
        this.#grant(message.bytes);
        this.#sendWaiting();
        break;
      case 'mark':
        this.#marks.push({ mark: message.mark, after: this.#outputs });
        this.#returnMarks();
        break;
      case 'reset':
        this.#end({ reason: message.message });
        break;
      case 'end':
        if (message.exit_code !== undefined) this.#end({ exitCode: message.exit_code });
    }
  }

  #grant(bytes: number): void {
    this.#credit += bytes;
    // All but a window of what it has granted in all has arrived.
    this.#input.forget(this.#input.sent + this.#credit - WINDOW_BYTES);
  }

  #output(bytes: Uint8Array): void {
    if (this.#hasEnded) return;
    this.#received += bytes.length;
    this.#outputs += 1;
    this.#events.output(bytes, () => {
      this.#used += 1;
      this.#returnMarks();
    });
  }

  #returnMarks(): void {
    for (let [next] = this.#marks; next && next.after <= this.#used; [next] = this.#marks) {
      this.#marks.shift();
      this.#send({ type: 'read', mark: next.mark });
    }
  }

  #sendWaiting(): void {
    if (this.#credit === 0 || this.#input.waiting === 0) return;
    const socket = this.#socket;
    if (!this.#isConnected || socket?.readyState !== OPEN) return;
    const bytes = this.#input.next(this.#credit);
    this.#credit -= bytes.length;
    for (let from = 0; from < bytes.length; from += MAX_CHUNK_BYTES)
      socket.send(bytes.subarray(from, from + MAX_CHUNK_BYTES));
    if (this.#session === undefined) this.#input.forget();
    this.#progressed();
  }

  #send(message: ClientMessage): void {
    if (this.#isConnected && !this.#hasEnded && this.#socket?.readyState === OPEN)
      this.#socket.send(JSON.stringify(message));
  }

  #end(end: StreamEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#leave();
    this.#events.ended(end);
  }

  #leave(): void {
    clearTimeout(this.#silence);
    this.#progressed();
    this.#socket?.close(LEFT);
  }
}
