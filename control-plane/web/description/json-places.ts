/**
 * Finds the places of JSON pointers in a text that is valid JSON, all in one pass: a tree of a megabyte of
 * JSON takes half a second.
 */
import { endOfString } from '../../../shared/json-depth.ts';

/** A value to be found, and those within it. */
interface Wanted {
  within: Map<string, Wanted>;
  /** Where it is; undefined until it is found. */
  offset?: number | undefined;
}

/**
 * The offset of each value that the segments of a pointer name: of the key of a member, and of an entry
 * itself. A missing value has the offset of the one in which it should be.
 */
export function offsetsOf(text: string, pointers: readonly (readonly string[])[]): number[] {
  const root: Wanted = { within: new Map() };
  for (const segments of pointers) {
    let wanted = root;
    for (const segment of segments) {
      const next = wanted.within.get(segment) ?? { within: new Map() };
      wanted.within.set(segment, next);
      wanted = next;
    }
  }
  const start = afterSpace(text, 0);
  root.offset = start;
  locate(text, start, root);
  return pointers.map((segments) => {
    let found = root;
    for (const segment of segments) {
      const next = found.within.get(segment);
      if (next?.offset === undefined) break;
      found = next;
    }
    return found.offset ?? 0;
  });
}

/** Finds what is wanted within the value at `start`. Returns the end of the value. */
function locate(text: string, start: number, wanted: Wanted): number {
  const open = text.charAt(start);
  if (wanted.within.size === 0 || (open !== '{' && open !== '[')) return endOfValue(text, start);
  let at = afterSpace(text, start + 1);
  for (let n = 0; !isClosing(text.charCodeAt(at)); n++) {
    const offset = at;
    let name = String(n);
    if (open === '{') {
      const end = endOfString(text, at) + 1;
      name = keyAt(text, at, end);
      // Beyond the colon.
      at = afterSpace(text, afterSpace(text, end) + 1);
    }
    const next = wanted.within.get(name);
    if (next) {
      // If a name occurs twice, the last one counts, as for JSON.parse.
      forget(next);
      next.offset = offset;
      at = locate(text, at, next);
    } else at = endOfValue(text, at);
    at = afterSpace(text, at);
    if (text.charAt(at) === ',') at = afterSpace(text, at + 1);
  }
  return at + 1;
}

/** The key between two quotes; few have escapes, and an object may have 100,000 keys. */
function keyAt(text: string, start: number, end: number): string {
  const key = text.slice(start + 1, end - 1);
  return key.includes('\\') ? JSON.parse(text.slice(start, end)) : key;
}

function forget(wanted: Wanted): void {
  wanted.offset = undefined;
  for (const one of wanted.within.values()) forget(one);
}

const [QUOTE, COMMA, OPEN_BRACE, CLOSE_BRACE, LIST_OPEN, LIST_CLOSE] = [0x22, 0x2c, 0x7b, 0x7d, 0x5b, 0x5d];

const isClosing = (code: number): boolean =>
  code === CLOSE_BRACE || code === LIST_CLOSE || Number.isNaN(code);

/** White space of JSON. */
function afterSpace(text: string, start: number): number {
  let at = start;
  for (let code = text.charCodeAt(at); code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09; )
    code = text.charCodeAt(++at);
  return at;
}

function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_BRACE || code === LIST_OPEN) depth++;
    else if (code === CLOSE_BRACE || code === LIST_CLOSE) {
      if (depth === 0) return at;
      depth--;
    } else if (code === COMMA && depth === 0) return at;
  }
  return text.length;
}
