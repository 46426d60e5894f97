/**
 * A stream to a service, by the WebSocket of docs/streams.md: keeps to the credit in both directions. Never
 * touches the page.
 */
import type {
  ClientMessage,
  ServerMessage,
  StreamOpening,
} from '../../../../shared/streams/client-messages.ts';
import type { TerminalSize } from '../../../../shared/streams/targets.ts';

export const SUBPROTOCOL = 'berth.stream.v1';
const MAX_CHUNK_BYTES = 64 * 1024;
/** The most input that waits for credit. A program that reads nothing must not fill the page. */
export const MAX_WAITING_BYTES = 2 ** 20;

/** The part of a WebSocket that a stream needs. */
export interface StreamSocket {
  readonly readyState: number;
  binaryType: string;
  addEventListener(type: 'open' | 'close', listener: () => void): void;
  addEventListener(type: 'message', listener: (event: { data: unknown }) => void): void;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(): void;
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
}

const OPEN = 1;

export class ServiceStream {
  readonly #socket: StreamSocket;
  readonly #events: StreamEvents;
  #credit = 0;
  #waiting: Uint8Array<ArrayBuffer>[] = [];
  #waitingBytes = 0;
  #outputs = 0;
  #used = 0;
  /** Marks, each with the number of outputs before it. */
  #marks: { mark: string; after: number }[] = [];
  #hasBegun = false;
  #isOpened = false;
  #hasEnded = false;
  #progressed = () => {};

  /** `opening` is sent as soon as the socket is open. */
  constructor(socket: StreamSocket, opening: StreamOpening, events: StreamEvents) {
    this.#socket = socket;
    this.#events = events;
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('open', () => {
      this.#hasBegun = true;
      socket.send(JSON.stringify(opening));
    });
    socket.addEventListener('message', ({ data }) => {
      if (typeof data === 'string') this.#take(JSON.parse(data) as ServerMessage);
      else this.#output(new Uint8Array(data as ArrayBuffer));
    });
    socket.addEventListener('close', () => this.#end(this.#hasBegun ? 'lost' : 'refused'));
  }

  /** False if so much waits already that these bytes were dropped. */
  write(bytes: Uint8Array<ArrayBuffer>): boolean {
    if (this.#hasEnded || this.#waitingBytes + bytes.length > MAX_WAITING_BYTES) return false;
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#sendWaiting();
    return true;
  }

  /** Resolves once no input waits for credit; to false if the stream is over. For one caller at a time. */
  async sent(): Promise<boolean> {
    while (this.#waitingBytes > 0 && !this.#hasEnded)
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
    this.#progressed();
    this.#socket.close();
  }

  #take(message: ServerMessage): void {
    if (message.type === 'opened') {
      this.#isOpened = true;
      this.#events.opened();
    }
    if (message.type === 'opened' || message.type === 'credit') {
      this.#credit += message.type === 'opened' ? message.credit : message.bytes;
      this.#sendWaiting();
    } else if (message.type === 'mark') {
      this.#marks.push({ mark: message.mark, after: this.#outputs });
      this.#returnMarks();
    } else if (message.type === 'reset') this.#end({ reason: message.message });
    else if (message.exit_code !== undefined) this.#end({ exitCode: message.exit_code });
  }

  #output(bytes: Uint8Array): void {
    if (this.#hasEnded) return;
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
    if (this.#credit === 0 || this.#waitingBytes === 0) return;
    const all = joined(this.#waiting);
    const now = all.subarray(0, this.#credit);
    const later = all.subarray(now.length);
    this.#waiting = later.length === 0 ? [] : [later];
    this.#waitingBytes = later.length;
    this.#credit -= now.length;
    if (this.#socket.readyState !== OPEN) return;
    for (let from = 0; from < now.length; from += MAX_CHUNK_BYTES)
      this.#socket.send(now.subarray(from, from + MAX_CHUNK_BYTES));
    this.#progressed();
  }

  #send(message: ClientMessage): void {
    if (this.#isOpened && !this.#hasEnded && this.#socket.readyState === OPEN)
      this.#socket.send(JSON.stringify(message));
  }

  #end(end: StreamEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#progressed();
    this.#socket.close();
    this.#events.ended(end);
  }
}

function joined(parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const [first = new Uint8Array(), ...others] = parts;
  if (others.length === 0) return first;
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
