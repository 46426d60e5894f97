/**
 * Frames of the bare relay, each a binary message of its one WebSocket: a kind, the number of a request, and
 * bytes. The sender of a body waits while as many bytes as a window has are not yet taken.
 */

/** `taken` states a number of bytes. */
export const kinds = { head: 0, data: 1, end: 2, taken: 3 } as const;
export type Kind = (typeof kinds)[keyof typeof kinds];

export interface Frame {
  kind: Kind;
  request: number;
  bytes: Uint8Array;
}

export interface RequestHead {
  method: string;
  path: string;
  headers: [name: string, value: string][];
}

export interface AnswerHead {
  status: number;
  headers: [name: string, value: string][];
}

/** The most bytes of a body in transit, and after how many the receiver states what it has taken. */
export const WINDOW_BYTES = 2 ** 20;
export const TAKEN_BYTES = WINDOW_BYTES / 4;
const HEADER_BYTES = 5;
const NO_BYTES = new Uint8Array();

export function encode(kind: Kind, request: number, bytes: Uint8Array = NO_BYTES): Uint8Array {
  const frame = new Uint8Array(HEADER_BYTES + bytes.length);
  frame[0] = kind;
  new DataView(frame.buffer).setUint32(1, request);
  frame.set(bytes, HEADER_BYTES);
  return frame;
}

export function decode(frame: Uint8Array): Frame {
  const request = new DataView(frame.buffer, frame.byteOffset).getUint32(1);
  return { kind: frame[0] as Kind, request, bytes: frame.subarray(HEADER_BYTES) };
}

export const jsonBytes = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
export const jsonOf = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes));

/** Without the headers that concern one connection only. */
export const passed = (headers: Iterable<[string, unknown]>): [string, string][] =>
  Array.from(headers, ([name, value]): [string, string] => [name, String(value)]).filter(
    ([name]) => name !== 'connection' && name !== 'keep-alive',
  );
