/** A stream to a command, a port or files of a service, by its WebSocket (docs/streams.md). */
import { createRequire } from 'node:module';
import { maskOptions } from '../shared/streams/masks.ts';
import { BerthError, type Call } from './call.ts';
import { errorOf, headerOf } from './transport.ts';

type Socket = import('ws').WebSocket;

/** A command in a service. */
export interface ExecRequest {
  words: string[];
  /** The size of its terminal, if it is to have one. */
  terminal?: { columns: number; rows: number } | undefined;
  /** A user of the image; by default that of the service. */
  user?: string | undefined;
}

type StreamOpening =
  | ({ type: 'exec' } & ExecRequest)
  | { type: 'forward'; port: number }
  | { type: 'files-out'; path: string; form: 'tar' | 'file'; links?: 'all' }
  | { type: 'files-in'; path: string; name: string; bytes?: number };

/** The frames of the server (docs/streams.md). */
type ServerMessage =
  | { type: 'opened'; credit: number }
  | { type: 'credit'; bytes: number }
  | { type: 'mark'; mark: string }
  | { type: 'end'; exit_code?: number }
  | { type: 'reset'; message: string };

/** Output, or a mark that is returned once all before it was used. */
type Arrival = Uint8Array | { mark: string };

const SUBPROTOCOL = 'berth.stream.v1';
const MAX_CHUNK_BYTES = 64 * 1024;
/** How often a connection is tried, and how many tries in a row may have no answer. */
const PING_MS = 20_000;
const MAX_UNANSWERED = 2;
/** How long the server may take to answer the end of a connection. */
const CLOSE_MS = 2_000;
const load = createRequire(import.meta.url);

export class ClientStream {
  readonly #socket: Socket;
  readonly #arrivals: Arrival[] = [];
  /** Whether the reader has gone on after the last bytes that it got. */
  #isUsed = true;
  #credit = 0;
  #exitCode: number | undefined;
  #hasOutputEnded = false;
  #failure: Error | undefined;
  #changed = () => {};
  #mayWrite = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) this.#arrivals.push(data);
      else this.#take(JSON.parse(data.toString()) as ServerMessage);
      this.#changed();
    });
    socket.on('close', () => this.#closed());
    socket.on('error', () => socket.terminate());
    this.#watch();
  }

  /** Resolves once the target is connected. Throws BerthError if it is refused. */
  static async open({ url, credentials, signal }: Call, opening: StreamOpening): Promise<ClientStream> {
    const { WebSocket } = load('ws') as typeof import('ws');
    const address = new URL(url);
    address.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const headers = credentials ? headerOf(credentials) : {};
    const options = { headers, perMessageDeflate: false, ...maskOptions(address) };
    const socket = new WebSocket(address, SUBPROTOCOL, options);
    signal?.addEventListener('abort', () => socket.terminate(), { once: true });
    const stream = new ClientStream(socket);
    await opened(socket, url);
    socket.send(JSON.stringify(opening));
    while (stream.#credit === 0 && !stream.#failure && !stream.#hasOutputEnded) await stream.#change();
    if (stream.#failure) throw stream.#failure;
    return stream;
  }

  /** What the target sends. The stream stands still while its reader does not go on. Throws BerthError. */
  async *output(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const next = this.#arrivals.shift();
      if (next && 'mark' in next) this.#send({ type: 'read', mark: next.mark });
      else if (next) {
        this.#isUsed = false;
        yield next;
        this.#isUsed = true;
      } else if (this.#hasOutputEnded) return;
      else if (this.#failure) throw this.#failure;
      else await this.#change();
    }
  }

  /** The exit code of a command whose output has ended. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /**
   * Resolves once the socket has taken all bytes, or once the stream is over. They must not change later.
   */
  async write(bytes: Uint8Array): Promise<void> {
    for (let from = 0; from < bytes.length && !this.isOver; ) {
      if (this.#credit === 0) {
        await new Promise<void>((resolve) => {
          this.#mayWrite = resolve;
        });
        continue;
      }
      const part = bytes.subarray(from, from + Math.min(this.#credit, MAX_CHUNK_BYTES));
      from += part.length;
      this.#credit -= part.length;
      this.#socket.send(part);
    }
  }

  /** No more bytes follow. */
  end(): void {
    this.#send({ type: 'end' });
  }

  resize(columns: number, rows: number): void {
    this.#send({ type: 'resize', columns, rows });
  }

  /** `signal`: such as `INT`. */
  signal(signal: string): void {
    this.#send({ type: 'signal', signal });
  }

  close(): void {
    this.#socket.close();
    setTimeout(() => this.#socket.terminate(), CLOSE_MS).unref();
  }

  /** True once the stream takes no more bytes. */
  get isOver(): boolean {
    return this.#failure !== undefined || this.#exitCode !== undefined;
  }

  /** Ends a connection that has gone silently, which looks like a command that prints nothing. */
  #watch(): void {
    let unanswered = 0;
    const isAlive = () => {
      unanswered = 0;
    };
    const timer = setInterval(() => {
      if (unanswered >= MAX_UNANSWERED) this.#socket.terminate();
      else if (this.#socket.readyState === this.#socket.OPEN) {
        unanswered += 1;
        this.#socket.ping();
      }
    }, PING_MS).unref();
    this.#socket.on('pong', isAlive).on('message', isAlive);
    this.#socket.on('close', () => clearInterval(timer));
  }

  #send(message: object): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #take(message: ServerMessage): void {
    if (message.type === 'opened') this.#credit = message.credit;
    else if (message.type === 'credit') this.#credit += message.bytes;
    else if (message.type === 'mark') this.#marked(message.mark);
    else if (message.type === 'reset') this.#failure = new BerthError(0, message.message);
    else {
      this.#hasOutputEnded = true;
      this.#exitCode = message.exit_code;
    }
    this.#mayWrite();
  }

  /** During an upload, and after the end of the output, no reader would return the mark. */
  #marked(mark: string): void {
    if (this.#isUsed && this.#arrivals.length === 0) this.#send({ type: 'read', mark });
    else this.#arrivals.push({ mark });
  }

  #closed(): void {
    if (!this.#hasOutputEnded) this.#failure ??= new BerthError(0, 'The connection to the server broke off.');
    else if (this.#exitCode === undefined) this.#failure ??= new BerthError(0, 'The stream is over.');
    this.#changed();
    this.#mayWrite();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#changed = resolve;
    });
  }
}

/** Throws BerthError with what the server has answered in place of an upgrade. */
function opened(socket: Socket, url: URL): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', (error) =>
      reject(
        new BerthError(0, `${url.origin} can't be reached: ${error.message}`, { unreachable: url.origin }),
      ),
    );
    socket.once('unexpected-response', (_, response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => {
        reject(errorOf(url, response, Buffer.concat(parts).toString()));
        socket.terminate();
      });
    });
  });
}
