/** A client of a stream by its documented subprotocol (docs/streams.md). */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import {
  type ServerMessage,
  STREAM_SUBPROTOCOL,
  serverSchema,
} from '../../../shared/streams/client-messages.ts';
import { eventually } from '../tools/eventually.ts';

export class StreamClient {
  readonly messages: ServerMessage[] = [];
  output: Buffer = Buffer.alloc(0);
  closeCode: number | undefined;
  /** While true, marks are not returned. */
  isStalled = false;
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) this.output = Buffer.concat([this.output, data]);
      else this.#take(serverSchema.parse(JSON.parse(data.toString())));
    });
    socket.on('close', (code) => {
      this.closeCode = code;
    });
  }

  /** Connects, and sends the request. Rejects with the status if the upgrade is refused. */
  static async open(
    url: string,
    request: object,
    headers: Record<string, string>,
    protocols: string[] = [STREAM_SUBPROTOCOL],
  ): Promise<StreamClient> {
    const socket = new WebSocket(url.replace('http', 'ws'), protocols, { headers });
    const client = new StreamClient(socket);
    await once(socket, 'open');
    client.send(request);
    return client;
  }

  send(message: object): void {
    this.#socket.send(JSON.stringify(message));
  }

  write(bytes: Uint8Array | string): void {
    this.#socket.send(Buffer.from(bytes));
  }

  /** Returns all marks so far. */
  readOn(): void {
    this.isStalled = false;
    for (const message of this.messages) if (message.type === 'mark') this.#return(message);
  }

  /** Waits for the first message of this type. */
  async got<T extends ServerMessage['type']>(type: T): Promise<Extract<ServerMessage, { type: T }>> {
    const isWanted = (one: ServerMessage): one is Extract<ServerMessage, { type: T }> => one.type === type;
    const found = await eventually(() => this.messages.find(isWanted) ?? this.closeCode);
    if (typeof found !== 'object') throw new Error(`closed with ${found}: ${JSON.stringify(this.messages)}`);
    return found;
  }

  /** Resolves once a ping is answered. */
  async pinged(): Promise<void> {
    const answered = once(this.#socket, 'pong');
    this.#socket.ping();
    await answered;
  }

  async closed(): Promise<number> {
    return (await eventually(() => this.closeCode)) ?? 0;
  }

  close(code?: number): void {
    this.#socket.close(code);
  }

  /** Breaks the connection off. */
  cut(): void {
    this.#socket.terminate();
  }

  #take(message: ServerMessage): void {
    this.messages.push(message);
    if (message.type === 'mark' && !this.isStalled) this.#return(message);
  }

  #return({ mark }: { mark: string }): void {
    this.send({ type: 'read', mark });
  }
}
