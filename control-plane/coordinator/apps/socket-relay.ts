/**
 * Joins the WebSocket of a browser and that of an application where the runtime has only whole messages. On
 * Node the bytes are passed on as they are.
 */
import type { Clock } from '../ports.ts';
import type { AppAnswer } from './app-relay.ts';
import { closeOf, closePayload, type FramePart, FrameReader, maskedFrame, opcodes } from './socket-frames.ts';

export interface BrowserSocket {
  send(data: string | Uint8Array): void;
  /** Without a code the close has none. */
  close(code?: number, reason?: string): void;
}

/** A message, in either direction. */
export const MAX_MESSAGE_BYTES = 16 * 2 ** 20;
/**
 * What a browser may be sent without a message of its own. The runtime does not show what a browser leaves
 * unread, and keeps it in memory.
 */
export const MAX_UNHEARD_BYTES = 32 * 2 ** 20;
/** What the application may leave unread of a browser, which the runtime can't stop. */
export const MAX_WAITING_BYTES = 32 * 2 ** 20;
/** What a frame that waits takes besides its payload. */
const FRAME_COST = 256;
const MAX_WAITING_PONGS = 64 * FRAME_COST;
/** An application may take so long to answer the close of a browser. */
const CLOSE_MS = 5_000;

const closing = { goingAway: 1001, protocol: 1002, text: 1007, tooLong: 1009, tryLater: 1013 } as const;

class Violation extends Error {
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
  readonly #frames = new FrameReader({ extensions: false });
  /** The message of the application that has begun. */
  #message: { opcode: number; payload: GrowingBytes } | undefined;
  #control = new GrowingBytes();
  #unheardBytes = 0;
  #waitingBytes = 0;
  #writes: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(browser: BrowserSocket, answer: AppAnswer, clock: Pick<Clock, 'after'>) {
    this.#browser = browser;
    this.#answer = answer;
    this.#clock = clock;
  }

  /** Passes on what the application sends. Resolves when both sockets are closed. Never rejects. */
  async run(): Promise<void> {
    const { read, pipe } = this.#answer;
    try {
      for (let bytes = await read(); bytes; bytes = await read())
        for (const part of this.#frames.push(bytes)) this.#take(part);
      this.#close(closing.goingAway, 'The application has closed the connection.');
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const code = error instanceof Violation ? error.code : closing.goingAway;
      if (error instanceof Violation) await pipe.write(close(code, reason)).catch(() => {});
      this.#close(code, reason);
    }
    pipe.close();
  }

  /** A message of the browser. */
  fromBrowser(data: string | Uint8Array): void {
    this.#unheardBytes = 0;
    const payload = typeof data === 'string' ? new TextEncoder().encode(data) : data;
    const opcode = typeof data === 'string' ? opcodes.text : opcodes.binary;
    const cost = payload.length + FRAME_COST;
    if (payload.length > MAX_MESSAGE_BYTES)
      this.#giveUp(closing.tooLong, `A message has at most ${MAX_MESSAGE_BYTES} bytes.`);
    else if (this.#waitingBytes + cost > MAX_WAITING_BYTES)
      this.#giveUp(closing.tryLater, 'The application does not read what it is sent.');
    else this.#write(maskedFrame(opcode, payload), cost);
  }

  /** The browser has closed its socket. Without a code it has gone. */
  browserClosed(code: number | undefined, reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#write(close(code ?? closing.goingAway, reason), FRAME_COST);
    this.#clock.after(CLOSE_MS, () => this.#answer.pipe.close());
  }

  #take(part: FramePart): void {
    if (part.opcode >= opcodes.close) this.#takeControl(part);
    else this.#takeData(part);
  }

  #takeData({ opcode, isFinal, bytes, isFirst, isLast }: FramePart): void {
    const continues = opcode === opcodes.continuation;
    if (isFirst && (opcode > opcodes.binary || continues !== (this.#message !== undefined)))
      throw new Violation(closing.protocol, 'The application has sent a frame that is not allowed here.');
    this.#message ??= { opcode, payload: new GrowingBytes() };
    const { payload } = this.#message;
    if (payload.length + bytes.length > MAX_MESSAGE_BYTES)
      throw new Violation(closing.tooLong, `A message has at most ${MAX_MESSAGE_BYTES} bytes.`);
    payload.add(bytes);
    if (isLast && isFinal) this.#send();
  }

  #takeControl({ opcode, bytes, isLast }: FramePart): void {
    this.#control.add(bytes);
    if (!isLast) return;
    const payload = this.#control.bytes;
    this.#control = new GrowingBytes();
    // An application that does not read its pongs gets no more of them.
    if (opcode === opcodes.ping && this.#waitingBytes < MAX_WAITING_PONGS)
      this.#write(maskedFrame(opcodes.pong, payload), FRAME_COST);
    if (opcode !== opcodes.close) return;
    const { code, reason } = closeOf(payload);
    this.#write(maskedFrame(opcodes.close, payload.subarray(0, 2)), FRAME_COST);
    if (code === 1005) this.#close(undefined, '');
    else this.#close(code, reason);
  }

  /** Sends the message of the application that is complete. */
  #send(): void {
    if (!this.#message) return;
    const { opcode, payload } = this.#message;
    this.#message = undefined;
    this.#unheardBytes += payload.length;
    if (this.#unheardBytes > MAX_UNHEARD_BYTES)
      throw new Violation(
        closing.tryLater,
        `The browser was sent ${MAX_UNHEARD_BYTES} bytes without a message of its own. Connect again.`,
      );
    if (this.#isClosed) return;
    this.#browser.send(opcode === opcodes.text ? textOf(payload.bytes) : payload.bytes);
  }

  /** `cost`: what the frame takes while it waits. */
  #write(frame: Uint8Array, cost: number): void {
    this.#waitingBytes += cost;
    this.#writes = this.#writes
      .then(() => this.#answer.pipe.write(frame))
      .catch(() => {})
      .finally(() => {
        this.#waitingBytes -= cost;
      });
  }

  #giveUp(code: number, reason: string): void {
    this.#close(code, reason);
    this.#answer.pipe.close();
  }

  #close(code: number | undefined, reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#browser.close(code, reason);
  }
}

const close = (code: number, reason: string): Uint8Array =>
  maskedFrame(opcodes.close, closePayload(code, reason));

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Violation(closing.text, 'The application has sent a text that is not UTF-8.');
  }
}

/** Bytes in one buffer, however small the parts are that they come in. */
class GrowingBytes {
  #buffer = new Uint8Array(128);
  length = 0;

  /** A part of the buffer. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.length);
  }

  add(part: Uint8Array): void {
    if (this.length + part.length > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(2 * this.#buffer.length, this.length + part.length));
      larger.set(this.bytes);
      this.#buffer = larger;
    }
    this.#buffer.set(part, this.length);
    this.length += part.length;
  }
}
