/**
 * A WebSocket to the application of a container as the target of a channel (P277). After the head of the
 * answer, messages travel as socket-messages.ts has them; pings, pongs and the close pass like them.
 */
import { WebSocket } from 'ws';
import { type RequestHead, TOKEN } from '../../../shared/streams/app-heads.ts';
import {
  decodeClose,
  encodeClose,
  encodeMessage,
  kinds,
  MAX_MESSAGE_BYTES,
  type MessageMemory,
  type MessagePart,
  MessageReader,
} from '../../../shared/streams/socket-messages.ts';
import { AppAnswer, MAX_ANSWER_HEAD_BYTES } from './app-answer.ts';
import { type AppPlace, connectAnew, headersFor } from './app-connections.ts';
import type { Piece, Target } from './target.ts';

/** Beyond that, nothing more is read of the application. */
const MAX_WAITING_BYTES = 64 * 1024;
const PROTOCOL = 'sec-websocket-protocol';
const MAX_FRAGMENTS = 16 * 1024;
const closing = { goingAway: 1001, tryLater: 1013 } as const;
/** An application may take so long to answer a close. */
const CLOSE_MS = 5_000;

export class WebSocketTarget implements Target {
  readonly output: AsyncIterable<Piece>;
  readonly #socket: WebSocket;
  readonly #answer: AppAnswer;
  readonly #memory: MessageMemory;
  readonly #messages = new MessageReader();
  readonly #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  /** Bytes of a message that has not ended, and what `#memory` has of this socket. */
  #unfinishedBytes = 0;
  #countedBytes = 0;
  #isClosed = false;
  #isOver = false;
  #wake = () => {};

  constructor(place: AppPlace, head: RequestHead, memory: MessageMemory) {
    this.#memory = memory;
    this.#answer = new AppAnswer(place.port);
    this.output = this.#answer.pieces();
    this.#socket = connect(place, head);
    this.#listen();
  }

  async write(bytes: Uint8Array): Promise<void> {
    try {
      for (const part of this.#messages.push(bytes)) await this.#pass(part);
    } catch {
      this.#socket.terminate();
    }
  }

  end(): void {}

  async exitCode(): Promise<undefined> {
    return undefined;
  }

  resize(): void {}

  signal(): void {}

  destroy(): void {
    this.#answer.fail('the request was given up');
    this.#isOver = true;
    this.#memory.change(this.#countedBytes, 0);
    this.#socket.terminate();
  }

  #listen(): void {
    const socket = this.#socket;
    // Not before the socket has found the handshake sound, and listens itself.
    socket.on('upgrade', (message) =>
      socket.on('open', () => {
        message.socket.on('data', ({ length }: Buffer) => this.#count(this.#unfinishedBytes + length));
        this.#answer.accept(message, this.#messagesOf());
      }),
    );
    socket.on('unexpected-response', (_, message) => this.#answer.give(message));
    socket.on('message', (data: Buffer, isBinary) => {
      this.#unfinishedBytes = 0;
      this.#add(encodeMessage(isBinary ? kinds.binary : kinds.text, data));
    });
    socket.on('ping', (data) => this.#add(encodeMessage(kinds.ping, data)));
    socket.on('pong', (data) => this.#add(encodeMessage(kinds.pong, data)));
    socket.on('close', (code, reason) => {
      this.#answer.closed();
      this.#isClosed = true;
      this.#unfinishedBytes = 0;
      this.#add(
        code === 1006
          ? encodeClose(closing.goingAway, Buffer.from('The application has closed the connection.'))
          : encodeClose(code, reason),
      );
    });
    socket.on('error', (error) => this.#answer.failed(error));
  }

  async #pass({ kind, bytes, isFinal }: MessagePart): Promise<void> {
    const socket = this.#socket;
    if (socket.readyState !== WebSocket.OPEN) return;
    if (kind === kinds.close) {
      const { code, reason } = decodeClose(bytes);
      socket.close(code, Buffer.from(reason));
      setTimeout(() => socket.terminate(), CLOSE_MS).unref();
    } else if (kind === kinds.ping) socket.ping(bytes);
    else if (kind === kinds.pong) socket.pong(bytes);
    else
      await new Promise<void>((resolve) => {
        socket.send(bytes, { binary: kind === kinds.binary, fin: isFinal }, () => resolve());
      });
  }

  #add(message: Uint8Array): void {
    this.#waiting.push(message);
    this.#waitingBytes += message.length;
    this.#count(this.#unfinishedBytes);
    if (this.#waitingBytes > MAX_WAITING_BYTES && !this.#isClosed) this.#socket.pause();
    this.#wake();
  }

  /** The application has so much of a message that has not ended. */
  #count(unfinishedBytes: number): void {
    if (this.#isOver) return;
    this.#unfinishedBytes = unfinishedBytes;
    const bytes = unfinishedBytes + this.#waitingBytes;
    const fits = this.#memory.change(this.#countedBytes, bytes);
    this.#countedBytes = bytes;
    if (!fits) this.#socket.close(closing.tryLater, 'All messages together are too long. Try again later.');
  }

  async *#messagesOf(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const message = this.#waiting.shift();
      if (message) {
        yield message;
        this.#waitingBytes -= message.length;
        this.#count(this.#unfinishedBytes);
        if (this.#waitingBytes <= MAX_WAITING_BYTES) this.#socket.resume();
      } else if (this.#isClosed) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}

function connect(place: AppPlace, head: RequestHead): WebSocket {
  const headers = headersFor(head, place, []);
  const protocols = headers
    .filter(([name]) => name.toLowerCase() === PROTOCOL)
    .flatMap(([, value]) => value.split(','))
    .map((protocol) => protocol.trim())
    .filter((protocol) => TOKEN.test(protocol));
  const others = headers.filter(([name]) => !name.toLowerCase().startsWith('sec-websocket-'));
  const kept = new Map<string, string[]>();
  for (const [name, value] of others) kept.set(name, [...(kept.get(name) ?? []), value]);
  const createConnection: typeof connectAnew = (_, created) => connectAnew(place, created);
  const more = { headers: Object.fromEntries(kept), maxHeaderSize: MAX_ANSWER_HEAD_BYTES, createConnection };
  // Neither the address nor the path is taken from a URL, which would change it.
  return new WebSocket('ws://container', [...new Set(protocols)], {
    ...(more as object),
    finishRequest: (request) => {
      request.path = head.path;
      request.end();
    },
    perMessageDeflate: false,
    autoPong: false,
    allowSynchronousEvents: false,
    maxPayload: MAX_MESSAGE_BYTES,
    maxFragments: MAX_FRAGMENTS,
    // Agent and container are on one machine (P302).
    generateMask: (mask) => void mask.fill(0),
  });
}
