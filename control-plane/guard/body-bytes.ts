/** Reads the bytes of a body, up to the limit, and decodes them. */
import type { Context as HonoContext } from 'hono';
import { OperationError } from '../core/model/errors.ts';

export const MAX_BODY_BYTES = 1024 * 1024;
/**
 * A larger body is read up to here and discarded. An answer in the middle of a body is lost if the connection
 * then ends.
 */
const MAX_DISCARDED_BYTES = 8 * MAX_BODY_BYTES;

/** The length that the request declares, if it declares one. Throws if that is too long. */
export function declaredLength(c: HonoContext): number | undefined {
  const declared = c.req.header('content-length');
  if (declared === undefined || c.req.header('transfer-encoding') !== undefined) return undefined;
  if (Number(declared) > MAX_BODY_BYTES) throw tooLarge();
  return Number(declared);
}

export async function bodyBytes(c: HonoContext): Promise<Uint8Array> {
  try {
    return new Uint8Array(await readBody(c));
  } catch (error) {
    // The peer broke the connection, and may not receive this answer. It is not an internal error.
    throw error instanceof OperationError
      ? error
      : new OperationError('invalid', 'The connection ended before the whole body had arrived.');
  }
}

/**
 * Hono's own limit inspects the body's stream, which on Node takes a third of the time of a request without
 * one.
 */
async function readBody(c: HonoContext): Promise<ArrayBuffer> {
  if (declaredLength(c) !== undefined) return c.req.arrayBuffer();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  const read = c.req.raw.body && partsOf(c.req.raw.body);
  for (let part = await read?.(); part?.value?.byteLength; part = await read?.()) {
    bytes += part.value.byteLength;
    if (bytes <= MAX_BODY_BYTES) parts.push(part.value);
    else if (bytes > MAX_DISCARDED_BYTES) break;
  }
  if (bytes > MAX_BODY_BYTES) throw tooLarge();
  return new Blob(parts).arrayBuffer();
}

/** A reader of workerd's, which resolves to fewer bytes only at the end of the body. */
interface FillingReader {
  readAtLeast(bytes: number, into: Uint8Array): Promise<{ value?: Uint8Array | undefined }>;
}

const PART_BYTES = 64 * 1024;

/**
 * Reads a body part by part. workerd would hand over each chunk in a buffer of 4 KB, and a body of a megabyte
 * can have a million chunks. On Node the server joins them (body-chunks.ts).
 */
function partsOf(body: ReadableStream<Uint8Array>): () => Promise<{ value?: Uint8Array | undefined }> {
  if ('readAtLeast' in ReadableStreamBYOBReader.prototype) {
    const reader = body.getReader({ mode: 'byob' }) as unknown as FillingReader;
    return () => reader.readAtLeast(PART_BYTES, new Uint8Array(PART_BYTES));
  }
  const reader = body.getReader();
  return () => reader.read();
}

const tooLarge = () => new OperationError('too-large', `The body is larger than ${MAX_BODY_BYTES} bytes.`);

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/** Refuses a body that is not UTF-8. Lenient decoding would store another text than the client sent. */
export function decodedText(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new OperationError('invalid', 'The body is not UTF-8. Send it as UTF-8, without compression.');
  }
}

const [PLUS, SPACE] = [0x2b, 0x20];

/** The text with spaces for plus signs, as forms encode them. In a text, a million of them take 30 ms. */
export function spacedText(bytes: Uint8Array): string {
  const spaced = bytes.slice();
  for (let at = spaced.indexOf(PLUS); at >= 0 && at < spaced.length; at++)
    if (spaced[at] === PLUS) spaced[at] = SPACE;
  return decodedText(spaced);
}
