/** Finds records in a stored log by walking from one to the next. */
import type { FileHandle } from 'node:fs/promises';
import { FRAME_BYTES, MAX_RECORD_BYTES, noFields, RecordError, readFields } from './record.ts';

const READ_BYTES = 1 << 20;

/**
 * Position of the first record that begins at `target` or later, the output in those before it, and whether
 * the line of one of them goes on. `from`: the position of an earlier record.
 * Throws RecordError if a record in between is damaged.
 */
export async function firstRecordFrom(
  file: FileHandle,
  from: number,
  target: number,
): Promise<{ at: number; outputBytes: number; hasOpenRecords: boolean }> {
  const input = Buffer.allocUnsafe(READ_BYTES);
  let at = from;
  let outputBytes = 0;
  let hasOpenRecords = false;
  while (at < target) {
    const { bytesRead } = await file.read(input, 0, READ_BYTES, at);
    const walked = walk(input, bytesRead, target - at);
    const output = outputIn(input, walked);
    outputBytes += output.bytes;
    hasOpenRecords ||= output.hasOpenRecords;
    if (walked === 0) throw new RecordError('the stored log is damaged: it ends within a record');
    at += walked;
  }
  return { at, outputBytes, hasOpenRecords };
}

/** What a service has written, in the whole records in the first `length` bytes. */
function outputIn(input: Buffer, length: number): { bytes: number; hasOpenRecords: boolean } {
  const fields = noFields();
  let bytes = 0;
  let hasOpenRecords = false;
  for (let at = 0; at < length; ) {
    const size = input.readUInt32BE(at) + FRAME_BYTES;
    readFields(input, at + 4, at + size - 4, fields);
    bytes += fields.lineEnd - fields.lineStart + (fields.ended ? 1 : 0);
    hasOpenRecords ||= !fields.ended;
    at += size;
  }
  return { bytes, hasOpenRecords };
}

/** Position after the last whole record. `from`: the position of a record. Throws RecordError. */
export async function endOfRecords(file: FileHandle, from: number): Promise<number> {
  const input = Buffer.allocUnsafe(READ_BYTES);
  for (let at = from; ; ) {
    const { bytesRead } = await file.read(input, 0, READ_BYTES, at);
    const walked = walk(input, bytesRead, Number.POSITIVE_INFINITY);
    if (walked === 0) return at;
    at += walked;
  }
}

/** Size of the whole records at the start of `input` until one begins at `target` or later. */
function walk(input: Buffer, available: number, target: number): number {
  let at = 0;
  while (at < target && at + FRAME_BYTES <= available) {
    const length = input.readUInt32BE(at);
    // An empty record cannot be a record of the engine: it is a hole.
    if (length === 0 || length > MAX_RECORD_BYTES)
      throw new RecordError('the stored log is damaged: a record has an impossible length');
    const end = at + length + FRAME_BYTES;
    if (end > available) break;
    at = end;
  }
  return at;
}
