/**
 * The stored form of a container's output: records of Docker's `local` log driver. Pure.
 *
 * A record is its length (uint32, big-endian), a protobuf message {1: source, 2: time in ns, 3: line, 4:
 * partial, 5: {1: last}}, and the length again, so that the file can also be read backwards. The line has no
 * newline. A line over 16 KiB is split into several partial records, the last of which is marked `last`. A
 * line that the process never ended is partial without a `last` record, and gets no newline here: the decoded
 * bytes are exactly the written ones.
 */
import type { LogFormat } from '../../shared/streams/targets.ts';
import type { OutputRecord } from '../engine/engine.ts';
import { STAMP_BYTES, Stamp } from './stamp.ts';

export const FRAME_BYTES = 8;
/** Docker cuts lines at 16 KiB, so a much longer record is invalid. */
export const MAX_RECORD_BYTES = 60 * 1024;

const NEWLINE = 10;
/** Index of the first letter that differs between `stdout` and `stderr`. It stands for the stream. */
const SOURCE_LETTER = 3;
/** Source of records that name no stream. */
const DEFAULT_SOURCE = 1;

/** No stream: the open line's source in a decoder that is not in the middle of a line. */
export const NO_SOURCE = 0;
/** A line is open, of a stream that is no longer known. */
export const UNKNOWN_SOURCE = -1;

export class RecordError extends Error {
  override name = 'RecordError';
}

/** The fields of one record. The line is `input[lineStart, lineEnd)`. */
export interface Fields {
  /** The stream that the line was written to, as its distinguishing letter. */
  source: number;
  timeSeconds: number;
  lineStart: number;
  lineEnd: number;
  /** A newline follows the line. */
  ended: boolean;
}

export interface Decoded {
  /** Bytes of the input that were whole records and are now in the output. */
  read: number;
  written: number;
  /** The next record did not fit into the output. */
  full: boolean;
}

/** Decodes stored records into the bytes to send. Its only state is the stream whose line is open. */
export class RecordDecoder {
  readonly #stamp: Stamp | undefined;
  readonly #fields = noFields();
  #open: number;

  /** `open`: the stream whose line continues, or NO_SOURCE. */
  constructor(format: LogFormat, open: number) {
    this.#stamp = format === 'timestamps' ? new Stamp() : undefined;
    this.#open = open;
  }

  get isLineOpen(): boolean {
    return this.#open !== NO_SOURCE;
  }

  /** Decodes as many whole records of `input` as fit into `output`. Throws RecordError. */
  decode(input: Buffer, output: Buffer): Decoded {
    const fields = this.#fields;
    let read = 0;
    let written = 0;
    while (true) {
      const size = recordSize(input, read);
      if (size === 0) return { read, written, full: false };
      readFields(input, read + 4, read + size - 4, fields);
      const { source, lineStart, lineEnd, ended } = fields;
      const stamp = this.#open === source ? undefined : this.#stamp;
      // Another stream's line is open. Every line of this format must begin with its time.
      const cut = stamp !== undefined && this.#open !== NO_SOURCE;
      const needed = (stamp ? STAMP_BYTES : 0) + (cut ? 1 : 0) + lineEnd - lineStart + (ended ? 1 : 0);
      if (written + needed > output.length) return { read, written, full: true };
      if (cut) output[written++] = NEWLINE;
      if (stamp) written = stamp.write(fields.timeSeconds, output, written);
      written += input.copy(output, written, lineStart, lineEnd);
      if (ended) output[written++] = NEWLINE;
      this.#open = ended ? NO_SOURCE : source;
      read += size;
    }
  }
}

/**
 * Size of the record at `at` with its frame, or 0 if the record is incomplete. Throws RecordError if it is
 * invalid.
 */
export function recordSize(input: Buffer, at: number): number {
  if (input.length - at < 4) return 0;
  const length = input.readUInt32BE(at);
  if (length > MAX_RECORD_BYTES) throw new RecordError('the stored log is damaged: a record is too long');
  const size = length + FRAME_BYTES;
  if (input.length - at < size) return 0;
  if (input.readUInt32BE(at + size - 4) !== length) {
    throw new RecordError('the stored log is damaged: the lengths of a record differ');
  }
  return size;
}

export const noFields = (): Fields => ({
  source: DEFAULT_SOURCE,
  timeSeconds: 0,
  lineStart: 0,
  lineEnd: 0,
  ended: true,
});

/**
 * Parses the protobuf message in `input[start, end)` into `fields`. Written by hand, because it runs for
 * every line.
 */
export function readFields(input: Buffer, start: number, end: number, fields: Fields): void {
  let at = start;
  let partial = false;
  let last = false;
  fields.source = DEFAULT_SOURCE;
  fields.timeSeconds = 0;
  fields.lineStart = fields.lineEnd = start;
  while (at < end) {
    const tag = input[at++] ?? 0;
    let value = 0;
    let scale = 1;
    let byte: number;
    do {
      byte = input[at++] ?? 0;
      value += (byte & 0x7f) * scale;
      scale *= 128;
    } while (byte >= 0x80);
    if (tag === 0x10) fields.timeSeconds = Math.floor(value / 1e9);
    else if (tag === 0x20) partial = value === 1;
    else if ((tag & 7) === 2) {
      if (tag === 0x1a) {
        fields.lineStart = at;
        fields.lineEnd = at + value;
      } else if (tag === 0x0a) fields.source = input[at + SOURCE_LETTER] ?? DEFAULT_SOURCE;
      else if (tag === 0x2a) last = input[at] === 0x08 && input[at + 1] === 1;
      at += value;
    } else if ((tag & 7) !== 0)
      throw new RecordError('the stored log is damaged: a field has an unknown type');
  }
  if (at !== end) throw new RecordError('the stored log is damaged: a field extends beyond its record');
  fields.ended = !partial || last;
}

/** Encodes a record as Docker would store it. A partial record is never marked as the last of its line. */
export function encodeRecord({ source, timeNs, line, partial }: OutputRecord): Buffer {
  const head = Buffer.concat([
    Buffer.from([0x0a, source.length]),
    Buffer.from(source),
    Buffer.from([0x10]),
    varint(timeNs),
    Buffer.from([0x1a]),
    varint(BigInt(line.length)),
  ]);
  const tail = partial ? Buffer.from([0x20, 1]) : Buffer.alloc(0);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length + line.length + tail.length);
  return Buffer.concat([length, head, line, tail, length]);
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return Buffer.from([...bytes, Number(rest)]);
}

/** Exact time of a record that encodeRecord wrote. Its message starts at `at`. */
export function recordTimeNs(input: Buffer, at: number): bigint {
  let next = at + 2 + (input[at + 1] ?? 0) + 1;
  let timeNs = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = input[next++] ?? 0;
    timeNs |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return timeNs;
  }
}
