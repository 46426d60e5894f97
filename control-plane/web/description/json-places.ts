/**
 * Finds the places of JSON pointers in a text that is valid JSON, all in one pass: a tree of a megabyte of
 * JSON takes half a second.
 */
import { afterSpace, endOfString } from '../../../shared/json-depth.ts';
import { type Place, placesOf } from '../../../shared/json-faults.ts';
import { type Steps, TURN_UNITS } from '../../../shared/steps.ts';

/** A value to be found, and those within it. */
interface Wanted {
  within: Map<string, Wanted>;
  /** Where it was found last; undefined until it is found. */
  offset?: number;
}

interface Scan {
  text: string;
  /** Where others were last let run. */
  pausedAt: number;
}

/** Characters after which others may run. */
const STEP_CHARACTERS = 64 * 1024;

/**
 * The offset of each value that the segments of a pointer name: of the key of a member, and of an entry
 * itself. A missing value has the offset of the one in which it should be.
 */
export function* offsetSteps(text: string, pointers: readonly (readonly string[])[]): Steps<number[]> {
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
  yield* locate({ text, pausedAt: 0 }, start, root);
  return pointers.map((segments) => offsetOf(root, segments));
}

/**
 * If a name occurs twice, the last one counts, as for JSON.parse: what was found before a value that should
 * contain it stands in an earlier one of that name.
 */
function offsetOf(root: Wanted, segments: readonly string[]): number {
  let offset = root.offset ?? 0;
  let found = root;
  for (const segment of segments) {
    const next = found.within.get(segment);
    if (next?.offset === undefined || next.offset < offset) break;
    offset = next.offset;
    found = next;
  }
  return offset;
}

/** Finds what is wanted within the value at `start`. Returns the end of the value. */
function* locate(scan: Scan, start: number, wanted: Wanted): Steps<number> {
  const { text } = scan;
  const open = text.charAt(start);
  if (wanted.within.size === 0 || (open !== '{' && open !== '[')) return endOfValue(text, start);
  let at = afterSpace(text, start + 1);
  for (let n = 0; !isClosing(text.charCodeAt(at)); n++) {
    if (at - scan.pausedAt >= STEP_CHARACTERS) {
      scan.pausedAt = at;
      yield TURN_UNITS;
    }
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
      next.offset = offset;
      at = yield* locate(scan, at, next);
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

const [QUOTE, COMMA, OPEN_BRACE, CLOSE_BRACE, LIST_OPEN, LIST_CLOSE] = [0x22, 0x2c, 0x7b, 0x7d, 0x5b, 0x5d];

const isClosing = (code: number): boolean =>
  code === CLOSE_BRACE || code === LIST_CLOSE || Number.isNaN(code);

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

/**
 * The places in a valid text of the values that pointers (RFC 6901) name, or the places where missing values
 * belong.
 */
export function* placeSteps(text: string, pointers: readonly string[]): Steps<Place[]> {
  return placesOf(text, yield* offsetSteps(text, pointers.map(segmentsOf)));
}

const segmentsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));

/** A pointer in programming notation: `services[0].resources.memory`. */
export const pathOf = (pointer: string): string =>
  segmentsOf(pointer)
    .map((segment, at) => (/^\d+$/.test(segment) ? `[${segment}]` : `${at > 0 ? '.' : ''}${segment}`))
    .join('');
