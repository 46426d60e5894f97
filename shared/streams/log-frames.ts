/**
 * Frames of a log stream: pieces of output of several services in one stream of bytes. Each frame has its
 * service and the position after its output, so that a subscriber who lost the stream continues exactly
 * there. Pure; also runs in the browser.
 *
 * A frame is `service: uint32`, `generation: uint32`, `next: float64`, `length: uint32` (all big-endian),
 * then `length` bytes of output. If the generation is 0, the bytes are a note as JSON. A frame of service 0
 * is empty, and only shows that the stream is alive.
 */

import { asciiBytes, asciiJson, asciiText } from './ascii-json.ts';

/**
 * A position in the output of a service: the generation of a start, and the offset there after a chunk (P10).
 */
export interface LogPosition {
  generation: number;
  offset: number;
}

export const LOG_START: LogPosition = { generation: 1, offset: 0 };

/** What a subscriber receives besides output. */
export type LogNote =
  /** This start has no log: it never ran, or its log has been removed. */
  | { missing: number }
  /** No more output will come. */
  | { ended: true }
  /** The log can't be read now; a later attempt may succeed. */
  | { trouble: string };

export interface LogFrame {
  service: number;
  /** The position after this frame's output. */
  position: LogPosition;
  payload: Uint8Array;
}

export const FRAME_HEADER_BYTES = 20;
/** Offsets have at most 15 digits, also in requests. */
const OFFSET_LIMIT = 1e15;
/** A frame with more is invalid, because chunks have at most 64 KiB. */
const MAX_PAYLOAD_BYTES = 1 << 20;

export function encodeFrame({ service, position, payload }: LogFrame): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(FRAME_HEADER_BYTES + payload.byteLength);
  writeFrameHeader(frame, service, position, payload.byteLength);
  frame.set(payload, FRAME_HEADER_BYTES);
  return frame;
}

/** For a sender whose frame already holds `length` bytes of output after the first FRAME_HEADER_BYTES. */
export function writeFrameHeader(
  frame: Uint8Array,
  service: number,
  { generation, offset }: LogPosition,
  length: number,
): void {
  const header = new DataView(frame.buffer, frame.byteOffset, FRAME_HEADER_BYTES);
  header.setUint32(0, service);
  header.setUint32(4, generation);
  header.setFloat64(8, offset);
  header.setUint32(16, length);
}

const NO_POSITION: LogPosition = { generation: 0, offset: 0 };

export const encodeNote = (service: number, note: LogNote): Uint8Array<ArrayBuffer> =>
  encodeFrame({ service, position: NO_POSITION, payload: asciiBytes(asciiJson(note)) });

export const heartbeat = (): Uint8Array<ArrayBuffer> =>
  encodeFrame({ service: 0, position: NO_POSITION, payload: new Uint8Array() });

export function decodeFrame(frame: Uint8Array): LogFrame {
  const header = new DataView(frame.buffer, frame.byteOffset, FRAME_HEADER_BYTES);
  return {
    service: header.getUint32(0),
    position: { generation: header.getUint32(4), offset: header.getFloat64(8) },
    payload: frame.subarray(FRAME_HEADER_BYTES),
  };
}

/** The note in the frame, if the frame is a note. */
export const noteOf = ({ service, position, payload }: LogFrame): LogNote | undefined =>
  service > 0 && position.generation === 0 ? JSON.parse(asciiText(payload)) : undefined;

/** Whether the bytes are one whole frame of this start. A host must not pass its output off as another's. */
export function isFrameOf(
  { service, generation }: { service: number; generation: number },
  bytes: Uint8Array,
): boolean {
  if (bytes.byteLength < FRAME_HEADER_BYTES) return false;
  const header = new DataView(bytes.buffer, bytes.byteOffset, FRAME_HEADER_BYTES);
  const isWhole = header.getUint32(16) === bytes.byteLength - FRAME_HEADER_BYTES;
  const offset = header.getFloat64(8);
  // A reader asks for its positions again, with those of other services.
  const isPosition = Number.isInteger(offset) && offset >= 0 && offset < OFFSET_LIMIT;
  return isWhole && isPosition && header.getUint32(0) === service && header.getUint32(4) === generation;
}

/** Splits a stream of bytes, in pieces of any size, into frames. */
export class FrameSplitter {
  #rest: Uint8Array = new Uint8Array();

  /**
   * Returns the frames that are now complete; they may share the piece's memory. Throws if a frame is
   * invalid.
   */
  push(piece: Uint8Array): Uint8Array[] {
    const bytes = this.#rest.byteLength === 0 ? piece : joined(this.#rest, piece);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const frames: Uint8Array[] = [];
    let start = 0;
    while (bytes.byteLength - start >= FRAME_HEADER_BYTES) {
      const length = view.getUint32(start + 16);
      if (length > MAX_PAYLOAD_BYTES) throw new Error('the log stream has an invalid frame');
      const end = start + FRAME_HEADER_BYTES + length;
      if (end > bytes.byteLength) break;
      frames.push(bytes.subarray(start, end));
      start = end;
    }
    this.#rest = bytes.slice(start);
    return frames;
  }
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  const all = new Uint8Array(one.byteLength + other.byteLength);
  all.set(one);
  all.set(other, one.byteLength);
  return all;
}
