/**
 * The WebSocket of a browser at an object. The runtime has whole messages alone, answers the pings of
 * browsers itself, sends none, and does not show what a browser leaves unread.
 */
import {
  encodeMessage,
  kinds,
  MAX_MESSAGE_BYTES,
  type MessagePart,
} from '../../../../shared/streams/socket-messages.ts';
import type { AppAnswer } from '../../apps/app-relay.ts';
import { type BrowserSocket, closing, TOO_LONG, Violation } from '../../apps/socket-relay.ts';

/** What a browser may be sent without a message of its own. It stays in memory until the browser reads. */
export const MAX_UNHEARD_BYTES = 32 * 2 ** 20;
/** An application that does not read its pongs gets no more of them. */
const MAX_PONGS = 64;

export class ObjectBrowser implements BrowserSocket {
  readonly #socket: Pick<WebSocket, 'send' | 'close'>;
  readonly #pipe: Pick<AppAnswer['pipe'], 'write' | 'close'>;
  #message = new GrowingBytes();
  #unheardBytes = 0;
  #pongs = 0;

  constructor(socket: Pick<WebSocket, 'send' | 'close'>, pipe: Pick<AppAnswer['pipe'], 'write' | 'close'>) {
    this.#socket = socket;
    this.#pipe = pipe;
  }

  /** The browser has sent a message. */
  heard(): void {
    this.#unheardBytes = 0;
  }

  send({ kind, bytes, isFinal }: MessagePart): void {
    if (kind === kinds.ping) this.#pong(bytes);
    if (kind !== kinds.text && kind !== kinds.binary) return;
    if (this.#message.length + bytes.length > MAX_MESSAGE_BYTES)
      throw new Violation(closing.tooLong, TOO_LONG);
    this.#message.add(bytes);
    if (!isFinal) return;
    const message = this.#message.bytes;
    this.#message = new GrowingBytes();
    this.#unheardBytes += message.length;
    if (this.#unheardBytes > MAX_UNHEARD_BYTES)
      throw new Violation(
        closing.tryLater,
        `The browser was sent ${MAX_UNHEARD_BYTES} bytes without a message of its own. Connect again.`,
      );
    const whole = kind === kinds.text ? textOf(message) : message;
    this.#quietly(() => this.#socket.send(whole));
  }

  close(code?: number, reason = ''): void {
    this.#quietly(() =>
      code === undefined ? this.#socket.close() : this.#socket.close(code, shortReason(reason)),
    );
  }

  #pong(payload: Uint8Array): void {
    if (this.#pongs >= MAX_PONGS) return;
    this.#pongs += 1;
    this.#pipe
      .write(encodeMessage(kinds.pong, payload))
      .catch(() => {})
      .finally(() => {
        this.#pongs -= 1;
      });
  }

  /** The runtime may have noticed the end of a socket first; its event may come late. */
  #quietly(act: () => void): void {
    try {
      act();
    } catch {
      this.#pipe.close();
    }
  }
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Violation(closing.text, 'The application has sent a text that is not UTF-8.');
  }
}

/** The reason of a close has at most 123 bytes. */
const shortReason = (reason: string): string => {
  const text = new TextEncoder().encode(reason);
  return text.length <= 123 ? reason : new TextDecoder().decode(text.subarray(0, 120)).replace(/\ufffd$/, '');
};

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
