/**
 * Encodes messages as JSON text frames, and chunks of channels as binary frames. Never does I/O.
 *
 * A chunk is `channel: uint32` (big-endian), then the payload. The highest bit of the first says that no more
 * bytes follow.
 */
import * as z from 'zod';
import { type Down, downSchema } from './down.ts';
import { type Up, upSchema } from './up.ts';
import { protocolText } from './version.ts';

export const CHUNK_HEADER_BYTES = 4;

export interface Chunk {
  channel: number;
  payload: Uint8Array;
  /** No more bytes follow in this direction of the channel. */
  isLast?: boolean;
}

const LAST = 0x8000_0000;

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

export function encodeChunk({ channel, payload, isLast = false }: Chunk): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(CHUNK_HEADER_BYTES + payload.byteLength);
  writeChunkHeader(frame, isLast ? channel + LAST : channel);
  frame.set(payload, CHUNK_HEADER_BYTES);
  return frame;
}

/** For a sender whose frame already holds the payload after the first CHUNK_HEADER_BYTES. */
export function writeChunkHeader(frame: Uint8Array, channel: number): void {
  new DataView(frame.buffer, frame.byteOffset, CHUNK_HEADER_BYTES).setUint32(0, channel);
}

export function decodeChunk(frame: Uint8Array): Chunk {
  if (frame.byteLength < CHUNK_HEADER_BYTES)
    throw new ProtocolError('a binary frame is shorter than its header');
  const first = new DataView(frame.buffer, frame.byteOffset, CHUNK_HEADER_BYTES).getUint32(0);
  const payload = frame.subarray(CHUNK_HEADER_BYTES);
  return first < LAST ? { channel: first, payload } : { channel: first - LAST, payload, isLast: true };
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
