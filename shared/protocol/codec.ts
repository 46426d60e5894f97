/**
 * Encodes messages as JSON text frames, and log chunks as binary frames. Never does I/O.
 *
 * A log chunk is `stream: uint32`, `next: uint64` (both big-endian), then the payload. `next` is the offset
 * from which to resume after this chunk.
 */
import * as z from 'zod';
import { type Down, downSchema } from './down.ts';
import { type Up, upSchema } from './up.ts';
import { protocolText } from './version.ts';

/** The most bytes that an agent may send on a log stream without further credit (PROTOCOL.md P9). */
export const LOG_WINDOW_BYTES = 256 * 1024;
/** Open log streams per connection. The agent fails further ones. */
export const MAX_LOG_STREAMS = 256;
/** Largest payload of one chunk, in bytes. */
export const LOG_CHUNK_BYTES = 64 * 1024;

export const CHUNK_HEADER_BYTES = 12;

export interface LogChunk {
  stream: number;
  next: number;
  payload: Uint8Array;
}

export const encode = (message: Up | Down): string => JSON.stringify(message);

/**
 * Parses a text frame. Throws ProtocolError, whose message never repeats values of the frame, or VersionError
 * for the hello of an agent with another protocol.
 */
export function decodeUp(text: string): Up {
  const value = parseJson(text);
  assertProtocol(value);
  return parse(upSchema, value);
}
export const decodeDown = (text: string): Down => parse(downSchema, parseJson(text));

export function encodeChunk({ stream, next, payload }: LogChunk): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(CHUNK_HEADER_BYTES + payload.byteLength);
  writeChunkHeader(frame, stream, next);
  frame.set(payload, CHUNK_HEADER_BYTES);
  return frame;
}

/** For a sender whose frame already holds the payload after the first CHUNK_HEADER_BYTES. */
export function writeChunkHeader(frame: Uint8Array, stream: number, next: number): void {
  const header = new DataView(frame.buffer, frame.byteOffset, CHUNK_HEADER_BYTES);
  header.setUint32(0, stream);
  header.setBigUint64(4, BigInt(next));
}

export function decodeChunk(frame: Uint8Array): LogChunk {
  if (frame.byteLength < CHUNK_HEADER_BYTES)
    throw new ProtocolError('a binary frame is shorter than its header');
  const header = new DataView(frame.buffer, frame.byteOffset, CHUNK_HEADER_BYTES);
  return {
    stream: header.getUint32(0),
    next: Number(header.getBigUint64(4)),
    payload: frame.subarray(CHUNK_HEADER_BYTES),
  };
}

export class ProtocolError extends Error {
  override name = 'ProtocolError';
}

/** A hello of another protocol. Nothing else of it can be read. */
export class VersionError extends Error {
  override name = 'VersionError';
}

const helloSchema = z.object({
  type: z.literal('hello'),
  version: z.int(),
  hash: z.string().max(64).optional().catch(undefined),
});

function assertProtocol(value: unknown): void {
  const { data: hello } = helloSchema.safeParse(value);
  if (!hello) return;
  const [theirs, ours] = [protocolText(hello.version, hello.hash), protocolText()];
  if (theirs !== ours)
    throw new VersionError(
      `the agent speaks protocol ${theirs.replaceAll(/[^\w-]/g, '?')}, the control plane ${ours}: install its agent`,
    );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ProtocolError('a text frame is not JSON');
  }
}

function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.slice(0, 5).map((issue) => `${issue.path.join('/')}: ${issue.code}`);
  throw new ProtocolError(`a message does not match the protocol (${problems.join('; ')})`);
}
