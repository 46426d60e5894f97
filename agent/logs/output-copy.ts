/**
 * Copies a container's output from the engine's log API into a stored file, for engines whose own files are
 * out of reach. Resumes where an earlier copy ended, without loss or duplicates. Never decides whether a
 * container has ended.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { OutputRecord } from '../engine/engine.ts';
import { encodeRecord, recordTimeNs } from './record.ts';
import { endOfRecords } from './record-walk.ts';
import { copyFrom, openIfThere } from './stored-files.ts';

/** Docker's size of a piece. */
const PIECE_BYTES = 16 * 1024;
/** Output is not stored in the exact order of its times, because the engine reads two streams at once. */
const OVERLAP_NS = 1_000_000_000n;
const OVERLAP_BYTES = 1 << 20;

/**
 * Appends the records of `follow` after the stored end. Returns when the stream ends. `first`: position of
 * the first stored record.
 */
export async function copyOutput(
  follow: (sinceNs: bigint) => AsyncIterable<OutputRecord>,
  path: string,
  first: number,
): Promise<void> {
  await separate(path, first);
  const file = await open(path, 'a+');
  const { size, sinceNs, stored } = await findEnd(file, first);
  await file.truncate(size);
  await pipeline(async function* () {
    for await (const record of follow(sinceNs)) {
      for (const piece of piecesOf(record)) {
        const bytes = encodeRecord(piece);
        if (!takeOne(stored, bytes)) yield bytes;
      }
    }
  }, file.createWriteStream());
}

/** A stored log that is a link becomes a copy: the engine writes to the file behind the link. */
async function separate(path: string, first: number): Promise<void> {
  const source = await openIfThere(path);
  if (!source) return;
  try {
    if ((await source.stat()).nlink > 1) await copyFrom(source, first, path);
  } finally {
    await source.close();
  }
}

interface End {
  /** Size up to the end of the last whole record. */
  size: number;
  sinceNs: bigint;
  /** The stored records from `sinceNs` on, with their counts. */
  stored: Map<string, number>;
}

async function findEnd(file: FileHandle, first: number): Promise<End> {
  const { size } = await file.stat();
  const tail = await readTail(file, first, size);
  if (endsWithRecord(tail, tail.length)) return { size, ...collect(tail, tail.length) };
  // A crash left an incomplete record.
  const end = await endOfRecords(file, first);
  const whole = await readTail(file, first, end);
  return { size: end, ...collect(whole, whole.length) };
}

async function readTail(file: FileHandle, first: number, end: number): Promise<Buffer> {
  const from = Math.max(first, end - OVERLAP_BYTES);
  const { buffer } = await file.read(Buffer.alloc(end - from), 0, end - from, from);
  return buffer;
}

function endsWithRecord(buffer: Buffer, end: number): boolean {
  if (end === 0) return true;
  const start = recordStart(buffer, end);
  return start >= 0 && buffer.readUInt32BE(start) === buffer.readUInt32BE(end - 4);
}

const recordStart = (buffer: Buffer, end: number): number =>
  end < 8 ? -1 : end - buffer.readUInt32BE(end - 4) - 8;

/** Walks backwards through the last second of output, within the buffer. */
function collect(buffer: Buffer, end: number): Pick<End, 'sinceNs' | 'stored'> {
  const stored = new Map<string, number>();
  let sinceNs = 0n;
  let lastNs: bigint | undefined;
  for (
    let at = end, start = recordStart(buffer, at);
    start >= 0;
    at = start, start = recordStart(buffer, at)
  ) {
    const timeNs = recordTimeNs(buffer, start + 4);
    lastNs ??= timeNs;
    if (timeNs < lastNs - OVERLAP_NS) break;
    sinceNs = timeNs;
    const bytes = buffer.toString('latin1', start, at);
    stored.set(bytes, (stored.get(bytes) ?? 0) + 1);
  }
  return { sinceNs, stored };
}

function takeOne(stored: Map<string, number>, bytes: Buffer): boolean {
  if (stored.size === 0) return false;
  const text = bytes.toString('latin1');
  const count = stored.get(text);
  if (count === undefined) return false;
  if (count === 1) stored.delete(text);
  else stored.set(text, count - 1);
  return true;
}

function* piecesOf(record: OutputRecord): Generator<OutputRecord> {
  let rest = record.line;
  for (; rest.length > PIECE_BYTES; rest = rest.subarray(PIECE_BYTES)) {
    yield { ...record, line: rest.subarray(0, PIECE_BYTES), partial: true };
  }
  yield { ...record, line: rest };
}
