/** Frames of the WebSocket protocol (RFC 6455) from bytes, and the frames of a client as bytes. */

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const MAX_CONTROL_BYTES = 125;

/** A part of a frame. A frame without a payload is one empty part. */
export interface FramePart {
  opcode: number;
  /** The frame ends its message. */
  isFinal: boolean;
  bytes: Uint8Array;
  /** The part is the first one of its frame, and the last one. */
  isFirst: boolean;
  isLast: boolean;
}

/** The frames that a server sends, which are not masked. Keeps at most a header. */
export class FrameReader {
  readonly #header = new Uint8Array(10);
  #headerBytes = 0;
  #left = 0;
  #opcode = 0;
  #isFinal = false;
  #isFirst = false;
  readonly #reservedBits: number;

  /** `extensions`: some may have been agreed, whose bits are then of no concern. */
  constructor({ extensions }: { extensions: boolean }) {
    this.#reservedBits = extensions ? 0 : 0x70;
  }

  /** True if the next byte begins a frame. */
  get isBetweenFrames(): boolean {
    return this.#headerBytes === 0;
  }

  /** Yields the parts of frames in the bytes. Throws if they are not such frames. */
  *push(bytes: Uint8Array): Generator<FramePart> {
    let at = 0;
    while (at < bytes.length) {
      const needed = this.#headerLength();
      if (this.#headerBytes < needed) {
        this.#header[this.#headerBytes++] = bytes[at++] ?? 0;
        if (this.#headerBytes < this.#headerLength()) continue;
        this.#begin();
        if (this.#left === 0) yield this.#part(new Uint8Array());
        continue;
      }
      const part = bytes.subarray(at, at + this.#left);
      at += part.length;
      this.#left -= part.length;
      yield this.#part(part);
    }
  }

  #headerLength(): number {
    const length = this.#headerBytes < 2 ? 0 : (this.#header[1] ?? 0) & 0x7f;
    if (length === 126) return 4;
    return length === 127 ? 10 : 2;
  }

  #begin(): void {
    const [first = 0, second = 0] = this.#header;
    if ((first & this.#reservedBits) !== 0 || (second & 0x80) !== 0)
      throw new Error('a frame has bits that were not agreed');
    const view = new DataView(this.#header.buffer);
    const short = second & 0x7f;
    this.#isFirst = true;
    this.#opcode = first & 0x0f;
    this.#isFinal = (first & 0x80) !== 0;
    this.#left = short;
    if (short === 126) this.#left = view.getUint16(2);
    if (short === 127) this.#left = Number(view.getBigUint64(2));
    if (this.#opcode >= 8 && (this.#left > MAX_CONTROL_BYTES || !this.#isFinal))
      throw new Error('a control frame is too long');
  }

  #part(bytes: Uint8Array): FramePart {
    const [isFirst, isLast] = [this.#isFirst, this.#left === 0];
    this.#isFirst = false;
    if (isLast) this.#headerBytes = 0;
    return { opcode: this.#opcode, isFinal: this.#isFinal, bytes, isFirst, isLast };
  }
}

/** A whole message or control frame of a client. */
export function maskedFrame(opcode: number, payload: Uint8Array): Uint8Array {
  const mask = crypto.getRandomValues(new Uint8Array(4));
  const head = headOf(opcode, payload.length, 0x80);
  const frame = new Uint8Array(head.length + 4 + payload.length);
  frame.set(head);
  frame.set(mask, head.length);
  const from = head.length + 4;
  for (let at = 0; at < payload.length; at += 1) frame[from + at] = (payload[at] ?? 0) ^ (mask[at & 3] ?? 0);
  return frame;
}

/** A close frame of a server. The reason is cut to what a frame takes. */
export function closeFrame(code: number, reason: string): Uint8Array {
  const payload = closePayload(code, reason);
  const head = headOf(opcodes.close, payload.length, 0);
  const frame = new Uint8Array(head.length + payload.length);
  frame.set(head);
  frame.set(payload, head.length);
  return frame;
}

/** Empty for 1005, which stands for a close without a code. */
export function closePayload(code: number, reason: string): Uint8Array {
  if (code === 1005) return new Uint8Array();
  const text = new TextEncoder().encode(reason);
  const payload = new Uint8Array(2 + Math.min(text.length, MAX_CONTROL_BYTES - 2));
  new DataView(payload.buffer).setUint16(0, code);
  payload.set(text.subarray(0, payload.length - 2), 2);
  return payload;
}

export function closeOf(payload: Uint8Array): { code: number; reason: string } {
  if (payload.length < 2) return { code: 1005, reason: '' };
  const code = new DataView(payload.buffer, payload.byteOffset).getUint16(0);
  return { code, reason: new TextDecoder().decode(payload.subarray(2)) };
}

function headOf(opcode: number, length: number, maskBit: number): Uint8Array {
  const head = new Uint8Array(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  const view = new DataView(head.buffer);
  head[0] = 0x80 | opcode;
  head[1] = maskBit | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (head.length === 4) view.setUint16(2, length);
  if (head.length === 10) view.setBigUint64(2, BigInt(length));
  return head;
}
