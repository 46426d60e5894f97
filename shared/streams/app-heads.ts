/**
 * The heads of a request to a web application and of its answer (PROTOCOL.md P275 to P277). That of the
 * answer comes first in the bytes of the channel: its length in four bytes (big-endian), then JSON in ASCII.
 */
import * as z from 'zod';
import { asciiBytes, asciiJson, asciiText } from './ascii-json.ts';

/** Longer heads are refused. */
export const MAX_HEAD_BYTES = 128 * 1024;
const LENGTH_BYTES = 4;
const MAX_HEADERS = 500;

export const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
/** No control characters but tabs. Each character is a byte. */
const VALUE = /^[\t -~\u0080-\u00ff]*$/;
const header = z.tuple([z.string().max(256).regex(TOKEN), z.string().max(MAX_HEAD_BYTES).regex(VALUE)]);
const headers = z.array(header).max(MAX_HEADERS);
export type HeaderPair = z.infer<typeof header>;

export const requestHeadSchema = z
  .object({
    method: z
      .string()
      .max(32)
      .regex(TOKEN)
      .refine((method) => method.toUpperCase() !== 'CONNECT'),
    /** Path and query. */
    path: z
      .string()
      .max(MAX_HEAD_BYTES)
      .regex(/^\/[!-~]*$/),
    headers,
    /** A body follows whose length is not known. */
    chunked: z.literal(true).optional(),
  })
  .refine((head) => lengthOf(head) <= MAX_HEAD_BYTES);
export type RequestHead = z.infer<typeof requestHeadSchema>;

const answerHeadSchema = z.union([
  /** The status is 101 only for a WebSocket. */
  z.object({ status: z.union([z.literal(101), z.int().min(200).max(599)]), headers }),
  /** The application can't be reached, or did not answer. For people. */
  z.object({ problem: z.string().max(2_000) }),
]);
export type AnswerHead = z.infer<typeof answerHeadSchema>;

const lengthOf = ({ path, headers }: { path: string; headers: HeaderPair[] }): number =>
  headers.reduce((sum, [name, value]) => sum + name.length + value.length, path.length);

/** Whether an agent accepts it. */
export const isRequestHead = (head: RequestHead): boolean => requestHeadSchema.safeParse(head).success;

/** Undefined if the text is not such a head. */
export function decodeAnswerHead(text: string): AnswerHead | undefined {
  try {
    return answerHeadSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Undefined if the head is too long or not valid. */
export function encodeAnswerHead(head: AnswerHead): Uint8Array | undefined {
  if (!answerHeadSchema.safeParse(head).success) return undefined;
  const text = asciiJson(head);
  if (text.length > MAX_HEAD_BYTES) return undefined;
  const bytes = new Uint8Array(LENGTH_BYTES + text.length);
  new DataView(bytes.buffer).setUint32(0, text.length);
  bytes.set(asciiBytes(text), LENGTH_BYTES);
  return bytes;
}

/** Collects the head of an answer from pieces of any size. */
export class HeadReader {
  readonly #length = new Uint8Array(LENGTH_BYTES);
  #lengthBytes = 0;
  #head: Uint8Array | undefined;
  #headBytes = 0;

  /**
   * Returns the text of the head and what follows it in the piece, once complete. Throws if it is too long.
   */
  push(piece: Uint8Array): { text: string; rest: Uint8Array } | undefined {
    let rest = piece;
    if (!this.#head) {
      const part = rest.subarray(0, LENGTH_BYTES - this.#lengthBytes);
      this.#length.set(part, this.#lengthBytes);
      this.#lengthBytes += part.length;
      if (this.#lengthBytes < LENGTH_BYTES) return undefined;
      const length = new DataView(this.#length.buffer).getUint32(0);
      if (length > MAX_HEAD_BYTES) throw new Error(`a head is longer than ${MAX_HEAD_BYTES} bytes`);
      this.#head = new Uint8Array(length);
      rest = rest.subarray(part.length);
    }
    const part = rest.subarray(0, this.#head.length - this.#headBytes);
    this.#head.set(part, this.#headBytes);
    this.#headBytes += part.length;
    if (this.#headBytes < this.#head.length) return undefined;
    return { text: asciiText(this.#head), rest: rest.subarray(part.length) };
  }
}

/** Headers that concern one connection only (RFC 9110, 7.6.1). */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-authentication-info',
  'http2-settings',
  'expect',
];
/** What no side may remove by naming it in `connection`. */
const ESSENTIAL: ReadonlySet<string> = new Set(['content-length', 'content-type', 'cookie', 'set-cookie']);

/** The names, in lower case, of headers of the one connection, and of those that `connection` names. */
export function connectionHeaders(headers: readonly HeaderPair[]): ReadonlySet<string> {
  const named = headers
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.split(',').map((one) => one.trim().toLowerCase()));
  return new Set([...HOP_BY_HOP, ...named.filter((name) => !ESSENTIAL.has(name))]);
}

/** Without the headers of the one connection. */
export function endToEnd(headers: readonly HeaderPair[]): HeaderPair[] {
  const dropped = connectionHeaders(headers);
  return headers.filter(([name]) => !dropped.has(name.toLowerCase()));
}
