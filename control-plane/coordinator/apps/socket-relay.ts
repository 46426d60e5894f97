/**
 * Joins the WebSocket of a browser and that of an application, which ends at the agent. The hosts differ in
 * their sockets only.
 */
import {
  decodeClose,
  encodeClose,
  encodeMessage,
  type Kind,
  kinds,
  MAX_MESSAGE_BYTES,
  type MessagePart,
  MessageReader,
} from '../../../shared/streams/socket-messages.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { Clock } from '../ports.ts';
import type { AppAnswer } from './app-relay.ts';

export interface BrowserSocket {
  /** Sends a part of a message, a ping or a pong. Resolves once the socket takes more. Throws Violation. */
  send(part: MessagePart): Promise<void> | void;
  /** Without a code the close has none. */
  close(code?: number, reason?: string): void;
}

/** What the application may leave unread of a browser that can't be stopped. */
export const MAX_WAITING_BYTES = 32 * 2 ** 20;
/** What a message that waits takes besides its payload. */
const MESSAGE_COST = 256;
/** An application may take so long to answer the close of a browser. */
const CLOSE_MS = 5_000;

export const closing = { goingAway: 1001, text: 1007, tooLong: 1009, tryLater: 1013 } as const;
export const TOO_LONG = `A message has at most ${MAX_MESSAGE_BYTES} bytes.`;

/** Why both sockets are closed, with this code. */
export class Violation extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export class SocketRelay {
  readonly #browser: BrowserSocket;
  readonly #answer: AppAnswer;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #messages = new MessageReader();
  #waitingBytes = 0;
  #writes: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(browser: BrowserSocket, answer: AppAnswer, clock: Pick<Clock, 'after'>) {
    this.#browser = browser;
    this.#answer = answer;
    this.#clock = clock;
  }

  /** What of the browser's messages is not on its way yet. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Passes on what the application sends. Resolves when both sockets are closed. Never rejects. */
  async run(): Promise<void> {
    const { read, pipe } = this.#answer;
    try {
      for (let bytes = await read(); bytes; bytes = await read())
        for (const part of this.#messages.push(bytes)) await this.#pass(part);
      this.#close(closing.goingAway, 'The application has closed the connection.');
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const code = error instanceof Violation ? error.code : closing.goingAway;
      if (error instanceof Violation) await pipe.write(encodeClose(code, bytesOf(reason))).catch(() => {});
      this.#close(code, reason);
    }
    pipe.close();
  }

  /** A message, ping or pong of the browser. Resolves once it is on its way, or never will be. */
  fromBrowser(kind: Kind, payload: Uint8Array): Promise<void> {
    if (payload.length > MAX_MESSAGE_BYTES) this.giveUp(closing.tooLong, TOO_LONG);
    else if (this.#waitingBytes + payload.length + MESSAGE_COST > MAX_WAITING_BYTES)
      this.giveUp(closing.tryLater, 'The application does not read what it is sent.');
    else this.#write(encodeMessage(kind, payload));
    return this.#writes;
  }

  /** The browser has closed its socket. Without a code it has gone. */
  browserClosed(code: number | undefined, reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#write(encodeClose(code ?? closing.goingAway, bytesOf(reason)));
    this.#clock.after(CLOSE_MS, () => this.#answer.pipe.close());
  }

  /** Closes the browser's socket, and gives the application's up. */
  giveUp(code: number, reason: string): void {
    this.#close(code, reason);
    this.#answer.pipe.close();
  }

  async #pass(part: MessagePart): Promise<void> {
    if (part.kind === kinds.close) {
      const { code, reason } = decodeClose(part.bytes);
      this.#close(code, new TextDecoder().decode(reason));
    } else if (!this.#isClosed) await this.#browser.send(part);
  }

  #write(message: Uint8Array): void {
    const cost = message.length + MESSAGE_COST;
    this.#waitingBytes += cost;
    this.#writes = this.#writes
      .then(() => this.#answer.pipe.write(message))
      .catch(() => {})
      .finally(() => {
        this.#waitingBytes -= cost;
      });
  }

  #close(code: number | undefined, reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#browser.close(code, reason);
  }
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The error for a client whose request is not one. */
export const notAHandshake = (): OperationError =>
  new OperationError('invalid', 'The request is not a handshake of WebSockets, version 13.');
