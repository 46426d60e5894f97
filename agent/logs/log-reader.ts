/**
 * One open channel to output: reads the stored output from an offset, follows it while it grows, and sends it
 * within its credit (P9, P10). Reads nothing without credit. Never decides whether a service has ended.
 */
import type { FileHandle } from 'node:fs/promises';
import type { ServiceKey } from '../../shared/protocol/assignment.ts';
import { CHUNK_HEADER_BYTES, writeChunkHeader } from '../../shared/protocol/codec.ts';
import type { Credit } from '../../shared/streams/credit.ts';
import { FRAME_HEADER_BYTES, writeFrameHeader } from '../../shared/streams/log-frames.ts';
import { CHUNK_BYTES, type OutputTarget } from '../../shared/streams/targets.ts';
import { sleep } from '../sleep.ts';
import {
  FRAME_BYTES,
  MAX_RECORD_BYTES,
  NO_SOURCE,
  noFields,
  RecordDecoder,
  readFields,
  recordSize,
  UNKNOWN_SOURCE,
} from './record.ts';
import { tailOf } from './record-tail.ts';
import { STAMP_BYTES, Stamp } from './stamp.ts';

export interface LogReaderOptions {
  channel: number;
  key: ServiceKey;
  target: Omit<OutputTarget, 'kind'>;
  credit: Credit;
  open(): Promise<FileHandle | undefined>;
  /** Position of the first byte that is still stored. It may grow at any time. */
  firstOffset(): number;
  /** Whether an earlier stream may have ended within a line, at a position that was removed. */
  mayCutLine(): boolean;
  /** A sentence that precedes the output. */
  remark?(): string | undefined;
  /** A sentence that takes the place of a log that was removed for the sake of later starts. */
  removedText: string | undefined;
  /** A sentence that follows the stored output if its end could not be stored. */
  lostText?(): string | undefined;
  /** A sentence that takes the place of removed output, which took this many bytes of the store. */
  missingText(bytes: number): string;
  /** False once no more output can arrive. */
  isLive(): boolean;
  /** Least pause after a read that found little, so that output in many small pieces takes few messages. */
  pauseMs(): number;
  /** Sends a chunk with one frame of output. Its bytes may change once the promise resolves. */
  send(frame: Uint8Array): Promise<void>;
}

const READ_BYTES = 256 * 1024;
/** A read of fewer bytes found little. */
const LITTLE_BYTES = READ_BYTES / 4;
/** Pause while nothing is found. */
const LAST_POLL_MS = 50;

export class LogReader {
  readonly #options: LogReaderOptions;
  readonly #closed = new AbortController();
  readonly #chunk = Buffer.allocUnsafe(CHUNK_HEADER_BYTES + CHUNK_BYTES);
  readonly #frame = this.#chunk.subarray(CHUNK_HEADER_BYTES);
  readonly #output = this.#frame.subarray(FRAME_HEADER_BYTES);
  readonly #credit: Credit;

  constructor(options: LogReaderOptions) {
    this.#options = options;
    this.#credit = options.credit;
    writeChunkHeader(this.#chunk, options.channel);
  }

  close(): void {
    this.#closed.abort();
    this.#credit.close();
  }

  /** Sends until the end of the output or until closed. Resolves to false if there is none. */
  async run(): Promise<boolean> {
    const file = await this.#waitForFile();
    if (this.#isClosed()) {
      await file?.close();
      return true;
    }
    if (!file) {
      const { removedText, lostText, target } = this.#options;
      const text = removedText ?? lostText?.();
      // An earlier stream may have ended within a line.
      if (text !== undefined)
        await this.#sendText(`${target.offset > 0 ? '\n' : ''}${this.#stamp()}${text}`, 0);
      return false;
    }
    try {
      await this.#sendAll(file);
      return true;
    } finally {
      await file.close();
    }
  }

  async #waitForFile(): Promise<FileHandle | undefined> {
    while (!this.#isClosed()) {
      const live = this.#isFollowed && this.#options.isLive();
      const file = await this.#options.open();
      if (file || !live) return file;
      await sleep(LAST_POLL_MS, this.#closed.signal);
    }
    return undefined;
  }

  async #sendAll(file: FileHandle): Promise<void> {
    const { target, isLive, firstOffset } = this.#options;
    // Output that never pauses also has an end at present.
    const end = this.#isFollowed ? Number.POSITIVE_INFINITY : (await file.stat()).size;
    const offset =
      target.tail === undefined
        ? target.offset
        : await tailOf(file, firstOffset, target.tail, this.#closed.signal);
    const remark = offset === 0 ? this.#options.remark?.() : undefined;
    if (remark !== undefined) await this.#sendText(`${this.#stamp()}${remark}`, 0);
    let decoder = new RecordDecoder(target.format, await this.#openLineBefore(file, offset));
    const input = Buffer.allocUnsafe(READ_BYTES);
    let position = offset;
    /** Bytes of an incomplete record at the start of `input`. */
    let carried = 0;
    let pollMs = 0;
    while (!this.#isClosed()) {
      if (this.#credit.bytes <= FRAME_HEADER_BYTES) {
        await this.#credit.more();
        continue;
      }
      // Checked before the read: output that arrives between the two is read in the next round.
      const live = this.#isFollowed && isLive();
      const at = position + carried;
      const most = Math.max(0, Math.min(READ_BYTES - carried, end - at));
      const { bytesRead } = await file.read(input, carried, most, at);
      const first = firstOffset();
      // Checked after the read, which may have found a hole.
      if (position < first) {
        await this.#sendMissing(first - position, first, decoder.isLineOpen);
        decoder = new RecordDecoder(target.format, NO_SOURCE);
        position = first;
        carried = 0;
        continue;
      }
      const available = input.subarray(0, carried + bytesRead);
      const sent = await this.#sendRecords(available, decoder, position);
      position += sent;
      carried = available.length - sent;
      input.copyWithin(0, sent, available.length);
      if (bytesRead >= LITTLE_BYTES) continue;
      if (live) {
        const pauseMs = this.#options.pauseMs();
        pollMs = bytesRead > 0 ? pauseMs : Math.max(pauseMs, Math.min(LAST_POLL_MS, pollMs * 1.2));
        await sleep(pollMs, this.#closed.signal);
      } else if (bytesRead === 0) {
        const lost = this.#options.lostText?.();
        const line = `${decoder.isLineOpen ? '\n' : ''}${this.#stamp()}${lost}`;
        if (lost !== undefined) await this.#sendText(line, position);
        return;
      }
    }
  }

  /**
   * Sends all whole records at the start of `input`, whose first byte is at `position` in the log. Returns
   * their size in bytes.
   */
  async #sendRecords(input: Buffer, decoder: RecordDecoder, position: number): Promise<number> {
    let sent = 0;
    while (!this.#isClosed()) {
      const room = this.#output.subarray(0, Math.max(0, this.#credit.bytes - FRAME_HEADER_BYTES));
      const { read, written, full } = decoder.decode(input.subarray(sent), room);
      sent += read;
      if (written > 0) await this.#send(written, position + sent);
      else if (full) await this.#credit.more();
      if (!full) break;
    }
    return sent;
  }

  /** The line stands by itself: the line before it, which has lost its end, is ended first. */
  #sendMissing(bytes: number, next: number, isLineOpen: boolean): Promise<void> {
    return this.#sendText(
      `${isLineOpen ? '\n' : ''}${this.#stamp()}${this.#options.missingText(bytes)}`,
      next,
    );
  }

  /** Each line of the format `timestamps` begins with a time, here that of the reading. */
  #stamp(): string {
    if (this.#options.target.format !== 'timestamps') return '';
    const stamp = Buffer.alloc(STAMP_BYTES);
    new Stamp().write(Math.floor(Date.now() / 1000), stamp, 0);
    return stamp.toString('latin1');
  }

  /** Sends a line that is not part of the stored output. The stream continues at `next`. */
  async #sendText(text: string, next: number): Promise<void> {
    const bytes = Buffer.from(`${text}\n`);
    while (this.#credit.bytes < FRAME_HEADER_BYTES + bytes.length && !this.#isClosed())
      await this.#credit.more();
    if (this.#isClosed()) return;
    bytes.copy(this.#output);
    await this.#send(bytes.length, next);
  }

  /** Sends the first bytes of `#output`. The output continues at `next`. */
  async #send(length: number, next: number): Promise<void> {
    const { service, generation } = this.#options.key;
    this.#credit.use(FRAME_HEADER_BYTES + length);
    writeFrameHeader(this.#frame, service, { generation, offset: next }, length);
    await this.#options.send(this.#chunk.subarray(0, CHUNK_HEADER_BYTES + FRAME_HEADER_BYTES + length));
  }

  async #openLineBefore(file: FileHandle, offset: number): Promise<number> {
    const { firstOffset, mayCutLine, target } = this.#options;
    const isResumed = offset > 0 && target.tail === undefined;
    const afterRemoved = () => (isResumed && mayCutLine() ? UNKNOWN_SOURCE : NO_SOURCE);
    if (offset <= firstOffset()) return afterRemoved();
    return openLineBefore(file, offset).catch((error: unknown) => {
      // The bytes before the offset were removed meanwhile.
      if (offset <= firstOffset()) return afterRemoved();
      throw error;
    });
  }

  get #isFollowed(): boolean {
    return this.#options.target.follow !== false;
  }

  #isClosed(): boolean {
    return this.#closed.signal.aborted;
  }
}

/**
 * The stream whose line the record before `offset` leaves open: no time is written before the next piece of
 * that line.
 */
async function openLineBefore(file: FileHandle, offset: number): Promise<number> {
  const tail = Buffer.alloc(4);
  // An offset beyond the end of the file is refused: the output there was lost, and later output is
  // different.
  const { bytesRead } = await file.read(tail, 0, 4, offset - 4);
  if (bytesRead < 4) throw new Error(`the offset ${offset} does not come from a chunk of this log`);
  const size = tail.readUInt32BE(0) + FRAME_BYTES;
  // Checked before a buffer of this size is allocated: a client may have made up the offset.
  if (size > MAX_RECORD_BYTES) throw new Error(`the offset ${offset} does not come from a chunk of this log`);
  const record = Buffer.alloc(Math.min(size, offset));
  await file.read(record, 0, record.length, offset - record.length);
  if (recordSize(record, 0) !== record.length)
    throw new Error(`the offset ${offset} does not come from a chunk of this log`);
  const fields = noFields();
  readFields(record, 4, record.length - 4, fields);
  return fields.ended ? NO_SOURCE : fields.source;
}
