/**
 * Owns output that knows where it is from: pieces of the logs of several services in one stream of bytes, each behind its
 * service and the position after it, so that a reader who lost the stream goes on exactly there. Pure; runs in the browser, too.
 *
 * A frame is `service: uint32`, `generation: uint32`, `next: float64`, `length: uint32` (all big-endian), then `length` bytes:
 * output, or where the generation is 0 a note as JSON. A frame of service 0 is empty and only shows that the stream lives.
 */

/** Where to go on in the output of a service: which of its starts, and the offset there that a chunk gave (P10). */
export interface LogPosition {
  generation: number;
  offset: number;
}

export const LOG_START: LogPosition = { generation: 1, offset: 0 };

/** What a reader is told besides output. */
export type LogNote =
  /** There is no log of this start: it never ran, or its log is not kept any more. */
  | { missing: number }
  /** No more will come. */
  | { ended: true }
  /** It can't be read now; asking again may help. */
  | { trouble: string };

export interface LogFrame {
  service: number;
  /** After this frame's output. */
  position: LogPosition;
  payload: Uint8Array;
}

const HEADER_BYTES = 20;
/** Chunks have 64 KiB at most; whatever is longer is no frame. */
const MAX_PAYLOAD_BYTES = 1 << 20;

export function encodeFrame({ service, position, payload }: LogFrame): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(HEADER_BYTES + payload.byteLength);
  const header = new DataView(frame.buffer);
  header.setUint32(0, service);
  header.setUint32(4, position.generation);
  header.setFloat64(8, position.offset);
  header.setUint32(16, payload.byteLength);
  frame.set(payload, HEADER_BYTES);
  return frame;
}

const NOWHERE: LogPosition = { generation: 0, offset: 0 };

export const encodeNote = (service: number, note: LogNote): Uint8Array<ArrayBuffer> =>
  encodeFrame({ service, position: NOWHERE, payload: new TextEncoder().encode(JSON.stringify(note)) });

export const heartbeat = (): Uint8Array<ArrayBuffer> =>
  encodeFrame({ service: 0, position: NOWHERE, payload: new Uint8Array() });

export function decodeFrame(frame: Uint8Array): LogFrame {
  const header = new DataView(frame.buffer, frame.byteOffset, HEADER_BYTES);
  return {
    service: header.getUint32(0),
    position: { generation: header.getUint32(4), offset: header.getFloat64(8) },
    payload: frame.subarray(HEADER_BYTES),
  };
}

/** The note that a frame is, if it is one. */
export const noteOf = ({ service, position, payload }: LogFrame): LogNote | undefined =>
  service > 0 && position.generation === 0 ? JSON.parse(new TextDecoder().decode(payload)) : undefined;

/** Finds the frames in bytes that come in pieces of any size. */
export class FrameSplitter {
  #rest: Uint8Array = new Uint8Array();

  /** The frames that are whole now; they may share the piece's memory. Throws on what is no frame. */
  push(piece: Uint8Array): Uint8Array[] {
    const bytes = this.#rest.byteLength === 0 ? piece : joined(this.#rest, piece);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const frames: Uint8Array[] = [];
    let at = 0;
    while (bytes.byteLength - at >= HEADER_BYTES) {
      const length = view.getUint32(at + 16);
      if (length > MAX_PAYLOAD_BYTES) throw new Error('the stream of the log is garbled');
      const end = at + HEADER_BYTES + length;
      if (end > bytes.byteLength) break;
      frames.push(bytes.subarray(at, end));
      at = end;
    }
    this.#rest = bytes.slice(at);
    return frames;
  }
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  const all = new Uint8Array(one.byteLength + other.byteLength);
  all.set(one);
  all.set(other, one.byteLength);
  return all;
}
