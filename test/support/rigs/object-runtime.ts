/** The globals of workerd that objects use, for tests in the process: sockets, and answers with one. */
import { vi } from 'vitest';

type Listener = (event: { data?: unknown; code?: number; reason?: string }) => void;

/** One end of a pair. What it sends arrives at the other one at once. */
export class PairedSocket {
  binaryType = '';
  isAccepted = false;
  readonly received: unknown[] = [];
  readonly closes: unknown[][] = [];
  /** The runtime has noticed the end of the socket. */
  isBroken = false;
  peer: PairedSocket | undefined;
  readonly #listeners: [type: string, run: Listener][] = [];
  readonly #waiting: unknown[] = [];

  /** What has arrived before is delivered a moment later. */
  accept(): void {
    this.isAccepted = true;
    queueMicrotask(() => {
      for (const data of this.#waiting.splice(0)) this.emit('message', { data });
    });
  }

  addEventListener(type: string, run: Listener): void {
    this.#listeners.push([type, run]);
  }

  send(data: unknown): void {
    if (this.isBroken) throw new TypeError('the socket has closed');
    this.peer?.receive(data);
  }

  receive(data: unknown): void {
    this.received.push(data);
    if (this.isAccepted) this.emit('message', { data });
    else this.#waiting.push(data);
  }

  close(...args: unknown[]): void {
    if (this.isBroken) throw new TypeError('the socket has closed');
    this.closes.push(args);
  }

  emit(type: string, event: Parameters<Listener>[0] = {}): void {
    for (const [of, run] of this.#listeners) if (of === type) run(event);
  }
}

class SocketResponse extends Response {
  webSocket: unknown;

  constructor(
    body?: ConstructorParameters<typeof Response>[0],
    init: ResponseInit & { webSocket?: unknown } = {},
  ) {
    super(body, { ...init, status: init.status === 101 ? 200 : (init.status ?? 200) });
    if (init.status === 101) Object.defineProperty(this, 'status', { value: 101 });
    this.webSocket = init.webSocket;
  }

  static override json(value: unknown): Response {
    return new SocketResponse(JSON.stringify(value));
  }
}

class StreamedRequest extends Request {
  constructor(input: string | URL | Request, init: RequestInit = {}) {
    super(input, init.body ? { ...init, duplex: 'half' } : init);
  }
}

class FixedLength extends TransformStream<Uint8Array, Uint8Array> {
  /** The lengths of all streams so far. */
  static readonly lengths: number[] = [];

  constructor(length: number) {
    super();
    FixedLength.lengths.push(length);
  }
}

/**
 * Makes the globals of workerd, until `vi.unstubAllGlobals`. Returns the lengths of all streams of a fixed
 * length.
 */
export function stubRuntime(): number[] {
  vi.stubGlobal('WebSocketPair', function pair() {
    const [client, server] = [new PairedSocket(), new PairedSocket()];
    [client.peer, server.peer] = [server, client];
    return { 0: client, 1: server };
  });
  vi.stubGlobal('Response', SocketResponse);
  vi.stubGlobal('Request', StreamedRequest);
  vi.stubGlobal('FixedLengthStream', FixedLength);
  FixedLength.lengths.length = 0;
  return FixedLength.lengths;
}
