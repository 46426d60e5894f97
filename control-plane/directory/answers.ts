/**
 * Reads what a directory answers (RFC 4511), strictly: no element may go beyond its parent. The reader of
 * ldapts loops without end over an answer that does (ACC-17). Pure.
 */

/** Longer messages are refused before they have arrived. */
const MAX_MESSAGE_BYTES = 65_536;
const MAX_TEXT_LENGTH = 200;

const TAG = { sequence: 0x30, integer: 0x02, octets: 0x04, enumeration: 0x0a } as const;
/** Answers with a result end what a request has begun. */
export const RESULT_OF = { bind: 0x61, search: 0x65, extended: 0x78 } as const;
const RESULTS: readonly number[] = Object.values(RESULT_OF);
const ENTRY = 0x64;
const REFERENCE = 0x73;

interface Element {
  tag: number;
  content: Buffer;
}

export type Answer = { id: number } & (
  | { kind: 'entry'; dn: string }
  /** To another directory. */
  | { kind: 'reference' }
  | { kind: 'result'; operation: number; code: number; text: string }
);

/** The first answer in `bytes`, and what follows it; undefined if it has not arrived yet. */
export function answerIn(bytes: Buffer): { answer: Answer; rest: Buffer } | undefined {
  const message = elementAt(bytes, 0);
  return message && { answer: answerOf(message.element), rest: bytes.subarray(message.end) };
}

function answerOf({ tag, content }: Element): Answer {
  const [number, operation] = elementsIn(content);
  if (tag !== TAG.sequence || number?.tag !== TAG.integer || !operation) throw malformed();
  const id = integerOf(number);
  if (operation.tag === REFERENCE) return { id, kind: 'reference' };
  const [first, , diagnostic] = elementsIn(operation.content);
  if (operation.tag === ENTRY && first?.tag === TAG.octets)
    return { id, kind: 'entry', dn: first.content.toString() };
  if (!RESULTS.includes(operation.tag) || first?.tag !== TAG.enumeration) throw malformed();
  const text = diagnostic?.content.toString().slice(0, MAX_TEXT_LENGTH) ?? '';
  return { id, kind: 'result', operation: operation.tag, code: integerOf(first), text };
}

/** All elements, which must fill the bytes. */
function elementsIn(bytes: Buffer): Element[] {
  const elements: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const found = elementAt(bytes, at);
    if (!found) throw malformed();
    elements.push(found.element);
    at = found.end;
  }
  return elements;
}

/** Undefined if the element goes beyond the bytes. */
function elementAt(bytes: Buffer, at: number): { element: Element; end: number } | undefined {
  const [tag, first] = [bytes[at], bytes[at + 1]];
  if (tag === undefined || first === undefined) return undefined;
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  if (first === 0x80 || lengthBytes > 4) throw malformed();
  const begin = at + 2 + lengthBytes;
  if (begin > bytes.length) return undefined;
  const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes);
  if (length > MAX_MESSAGE_BYTES)
    throw new Error(`The directory sends more than ${MAX_MESSAGE_BYTES} bytes.`);
  const end = begin + length;
  return end > bytes.length ? undefined : { element: { tag, content: bytes.subarray(begin, end) }, end };
}

function integerOf({ content }: Element): number {
  if (content.length < 1 || content.length > 4) throw malformed();
  return content.readUIntBE(0, content.length);
}

const malformed = () => new Error('The directory sends something malformed.');
