/** Finds where the last lines of a stored log begin, by reading it backwards. */
import type { FileHandle } from 'node:fs/promises';
import { sleep } from '../sleep.ts';
import { FRAME_BYTES, MAX_RECORD_BYTES, noFields, RecordError, readFields, recordSize } from './record.ts';

const BLOCK_BYTES = 256 * 1024;
/** Most bytes that are read: lines without an end may be of any length. */
export const MAX_TAIL_BYTES = 32 * 2 ** 20;

/** A record that is being written, or space that is being freed, is whole or gone soon after. */
const ATTEMPTS = 3;
const RETRY_MS = 50;

/**
 * Position from which on the log has that many lines, or of its first record if it has fewer. A last line
 * that has no end counts. `first`: position of the first stored byte, which may grow. Throws RecordError if
 * the log is damaged there.
 */
export async function tailOf(
  file: FileHandle,
  first: () => number,
  lines: number,
  signal: AbortSignal,
): Promise<number> {
  for (let attempt = 1; ; attempt++)
    try {
      return await findTail(file, first(), (await file.stat()).size, lines);
    } catch (error) {
      if (attempt === ATTEMPTS || !(error instanceof RecordError)) throw error;
      await sleep(RETRY_MS, signal);
    }
}

async function findTail(file: FileHandle, first: number, end: number, lines: number): Promise<number> {
  const oldest = Math.max(first, end - MAX_TAIL_BYTES);
  const block = Buffer.allocUnsafe(BLOCK_BYTES);
  const count = new LineCount(lines);
  for (let at = end; at > oldest; ) {
    const from = Math.max(oldest, at - BLOCK_BYTES);
    const { bytesRead } = await file.read(block, 0, at - from, from);
    if (bytesRead < at - from) throw new RecordError('the stored log became shorter while it was read');
    const to = count.walkBack(block.subarray(0, bytesRead));
    if (count.isReached) return from + to;
    if (to === bytesRead && from > oldest) throw damaged();
    at = from + to;
    if (from > oldest) continue;
    // Where the search ends for its bound, a record may begin before.
    if (to > 0 && oldest === first) throw damaged();
    return at;
  }
  return oldest;
}

/** Counts lines from the last record backwards. */
class LineCount {
  isReached = false;
  readonly #wanted: number;
  readonly #fields = noFields();
  #found = 0;
  #isFirst = true;

  constructor(wanted: number) {
    this.#wanted = wanted;
  }

  /** Walks from the end of `input` to its first whole record, or to the one before which enough lines end. */
  walkBack(input: Buffer): number {
    let to = input.length;
    while (to >= FRAME_BYTES) {
      const length = input.readUInt32BE(to - 4);
      // An empty record cannot be a record of the engine: it is a hole.
      if (length === 0 || length > MAX_RECORD_BYTES) throw damaged();
      const start = to - length - FRAME_BYTES;
      if (start < 0) break;
      if (recordSize(input, start) !== to - start) throw damaged();
      readFields(input, start + 4, to - 4, this.#fields);
      if (this.#fields.ended && this.#found === this.#wanted) {
        this.isReached = true;
        break;
      }
      if (this.#fields.ended || this.#isFirst) this.#found += 1;
      this.#isFirst = false;
      to = start;
    }
    return to;
  }
}

const damaged = () => new RecordError('the stored log is damaged near its end: read it from its beginning');
