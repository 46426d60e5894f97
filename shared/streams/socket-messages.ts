/**
 * Messages of an application's WebSocket as bytes of a channel, the same in both directions (P277): the kind
 * in one byte, the length in four (big-endian), then the payload. The highest bit of the kind says that more
 * of the message follows.
 */

/** As RFC 6455 numbers them. */
export const kinds = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
export type Kind = (typeof kinds)[keyof typeof kinds];

/** A message, in either direction. */
export const MAX_MESSAGE_BYTES = 16 * 2 ** 20;
const HEADER_BYTES = 5;
const MORE = 0x80;
const MAX_CONTROL_BYTES = 125;
const NO_CODE = 1005;

/** A part of a message, or a whole close, ping or pong. */
export interface MessagePart {
  kind: Kind;
  bytes: Uint8Array;
  isFinal: boolean;
}

export function encodePart({ kind, bytes, isFinal }: MessagePart): Uint8Array<ArrayBuffer> {
  const encoded = new Uint8Array(HEADER_BYTES + bytes.length);
  const header = new DataView(encoded.buffer);
  header.setUint8(0, isFinal ? kind : kind | MORE);
  header.setUint32(1, bytes.length);
  encoded.set(bytes, HEADER_BYTES);
  return encoded;
}

export const encodeMessage = (kind: Kind, bytes: Uint8Array = new Uint8Array()): Uint8Array<ArrayBuffer> =>
  encodePart({ kind, bytes, isFinal: true });

/** `reason`: text in UTF-8, which is cut to what a close takes. Without a code, nothing is sent of it. */
export function encodeClose(code: number | undefined, reason: Uint8Array): Uint8Array<ArrayBuffer> {
  if (code === undefined || code === NO_CODE) return encodeMessage(kinds.close);
  const text = reason.subarray(0, MAX_CONTROL_BYTES - 2);
  const payload = new Uint8Array(2 + text.length);
  new DataView(payload.buffer).setUint16(0, code);
  payload.set(text, 2);
  return encodeMessage(kinds.close, payload);
}

/** No code: there was none, or not one that may be sent. `reason`: text in UTF-8. */
export function decodeClose(payload: Uint8Array): { code?: number; reason: Uint8Array } {
  const reason = payload.subarray(2);
  if (payload.length < 2) return { reason };
  const code = new DataView(payload.buffer, payload.byteOffset).getUint16(0);
  const isSendable = (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || isOwnCode(code);
  return isSendable ? { code, reason } : { reason };
}

const isOwnCode = (code: number): boolean => code >= 3000 && code <= 4999;

/**
 * Reads the messages of one direction from bytes in pieces of any size. Keeps at most a header and a ping.
 */
export class MessageReader {
  readonly #header = new Uint8Array(HEADER_BYTES);
  #headerBytes = 0;
  #left = 0;
  #kind: Kind = kinds.text;
  #isEnd = true;
  /** The payload of a close, ping or pong so far. */
  #control: number[] = [];

  /** Throws if the bytes are not such messages. */
  *push(bytes: Uint8Array): Generator<MessagePart> {
    let at = 0;
    while (at < bytes.length) {
      if (this.#headerBytes < HEADER_BYTES) {
        this.#header[this.#headerBytes++] = bytes[at++] ?? 0;
        if (this.#headerBytes < HEADER_BYTES) continue;
        this.#begin();
      }
      const part = bytes.subarray(at, at + this.#left);
      at += part.length;
      this.#left -= part.length;
      if (this.#left === 0) this.#headerBytes = 0;
      if (this.#kind < kinds.close) yield this.#part(part);
      else {
        this.#control.push(...part);
        if (this.#left === 0) yield this.#part(Uint8Array.from(this.#control));
      }
    }
  }

  #begin(): void {
    const first = this.#header[0] ?? 0;
    const kind = first & ~MORE;
    if (!(Object.values(kinds) as number[]).includes(kind)) throw new Error('a message is of no known kind');
    this.#kind = kind as Kind;
    this.#isEnd = first < MORE;
    this.#left = new DataView(this.#header.buffer).getUint32(1);
    this.#control = [];
    if (kind >= kinds.close && (this.#left > MAX_CONTROL_BYTES || !this.#isEnd))
      throw new Error('a close, ping or pong is too long');
  }

  #part(bytes: Uint8Array): MessagePart {
    return { kind: this.#kind, bytes, isFinal: this.#isEnd && this.#left === 0 };
  }
}

/**
 * Memory of messages that are not passed on yet, of all sockets of a process: whoever receives a message
 * keeps it to its end.
 */
export class MessageMemory {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes = 64 * 2 ** 20) {
    this.#maxBytes = maxBytes;
  }

  /** Changes what one socket has from `before` to `now`. False if it is too much for all together. */
  change(before: number, now: number): boolean {
    this.#bytes += now - before;
    return now <= before || now <= ALWAYS_BYTES || this.#bytes <= this.#maxBytes;
  }
}

/** What each socket may have, whatever the others do. */
const ALWAYS_BYTES = 256 * 1024;
