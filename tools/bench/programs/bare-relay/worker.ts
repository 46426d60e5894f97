/**
 * The limit of web applications on workerd: a Worker that passes each request on to an object, which has the
 * WebSocket of the agent (agent.ts). It has the classes of Berth's Worker, so that it is started like that.
 */
import { DurableObject } from 'cloudflare:workers';
import {
  type AnswerHead,
  decode,
  encode,
  type Frame,
  jsonBytes,
  jsonOf,
  type Kind,
  kinds,
  passed,
  TAKEN_BYTES,
  WINDOW_BYTES,
} from './frames.ts';

interface Env {
  GATEWAY: DurableObjectNamespace;
}

export class CoordinatorObject extends DurableObject {}

export class GatewayObject extends DurableObject {
  readonly #open = new Map<number, Exchange>();
  /** The runtime keeps it while the object sleeps, which happens after 10 s without a request. */
  #agent: WebSocket | undefined = this.ctx.getWebSockets()[0];
  #last = 0;

  override async fetch(incoming: Request): Promise<Response> {
    if (incoming.headers.get('upgrade') === 'websocket') {
      const { 0: client, 1: server } = new WebSocketPair();
      this.ctx.acceptWebSocket(server);
      this.#agent = server;
      return new Response(null, { status: 101, webSocket: client });
    }
    const request = ++this.#last;
    const send = (kind: Kind, bytes?: Uint8Array) => this.#agent?.send(encode(kind, request, bytes));
    const exchange = new Exchange(send, () => this.#open.delete(request));
    this.#open.set(request, exchange);
    const { method, url, headers, body } = incoming;
    const { pathname, search } = new URL(url);
    send(kinds.head, jsonBytes({ method, path: pathname + search, headers: passed(headers) }));
    void exchange.sendFrom(body);
    return exchange.answer;
  }

  override webSocketMessage(_: WebSocket, data: string | ArrayBuffer): void {
    if (typeof data === 'string') return;
    const frame = decode(new Uint8Array(data));
    this.#open.get(frame.request)?.receive(frame);
  }
}

/** One request and its answer. */
class Exchange {
  readonly answer: Promise<Response>;
  readonly #send: (kind: Kind, bytes?: Uint8Array) => void;
  readonly #over: () => void;
  readonly #arrived: Uint8Array[] = [];
  #hasEnded = false;
  #room = WINDOW_BYTES;
  #taken = 0;
  #answered: (response: Response) => void = () => {};
  #mayRead = () => {};
  #maySend = () => {};

  constructor(send: (kind: Kind, bytes?: Uint8Array) => void, over: () => void) {
    this.#send = send;
    this.#over = over;
    this.answer = new Promise((resolve) => {
      this.#answered = resolve;
    });
  }

  /** Reads no further than the agent has room. */
  async sendFrom(body: ReadableStream<Uint8Array> | null): Promise<void> {
    for await (const bytes of body ?? []) {
      this.#room -= bytes.length;
      this.#send(kinds.data, bytes);
      while (this.#room <= 0)
        await new Promise<void>((resolve) => {
          this.#maySend = resolve;
        });
    }
    this.#send(kinds.end);
  }

  receive({ kind, bytes }: Frame): void {
    if (kind === kinds.head) this.#answer(jsonOf(bytes));
    else if (kind === kinds.taken) {
      this.#room += jsonOf(bytes);
      this.#maySend();
    } else {
      if (kind === kinds.data) this.#arrived.push(bytes);
      else this.#hasEnded = true;
      this.#mayRead();
    }
  }

  #answer({ status, headers }: AnswerHead): void {
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => this.#pull(controller);
    const body = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
    const own = headers.filter(([name]) => name !== 'content-length' && name !== 'transfer-encoding');
    this.#answered(new Response(body, { status, headers: own }));
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    while (this.#arrived.length === 0 && !this.#hasEnded)
      await new Promise<void>((resolve) => {
        this.#mayRead = resolve;
      });
    const bytes = this.#arrived.shift();
    if (bytes) {
      controller.enqueue(bytes);
      this.#took(bytes.length);
    } else {
      controller.close();
      this.#over();
    }
  }

  #took(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken < TAKEN_BYTES) return;
    this.#send(kinds.taken, jsonBytes(this.#taken));
    this.#taken = 0;
  }
}

export default {
  fetch: (request: Request, { GATEWAY }: Env): Promise<Response> =>
    GATEWAY.get(GATEWAY.idFromName('relay')).fetch(request),
};
