/** HTML templates by Hono: `html` escapes every inserted value except other `html` and `trusted`. */
import { html as template, raw as trusted } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

export { trusted };

/** HTML that is already escaped. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** Characters from which on `escapeLong` is used. */
const LONG = 4096;
const SPECIAL = /[&<>"']/;
/** Bytes of the longest replacement. */
const LONGEST = 6;
/** How many bytes replace each character, by its code, and `LONGEST` places for those bytes. */
const LENGTHS = new Uint8Array(256).fill(1);
const REPLACEMENTS = new Uint8Array(256 * LONGEST);
for (const [character, text] of Object.entries({
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
})) {
  const code = character.charCodeAt(0);
  LENGTHS[code] = text.length;
  REPLACEMENTS.set(new TextEncoder().encode(text), LONGEST * code);
}

export const html = (strings: TemplateStringsArray, ...values: unknown[]): Html =>
  template(
    strings,
    ...values.map((value) => (typeof value === 'string' && value.length > LONG ? escapeLong(value) : value)),
  );

/**
 * The same text as Hono's, which joins it from one piece for each character that it replaces. Half characters
 * (lone surrogates) become U+FFFD already here, as in every answer.
 */
function escapeLong(text: string): HtmlEscapedString {
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    const start = nextSpecial(text, at);
    let end = start;
    while (end < text.length && SPECIAL.test(text.slice(end, end + LONG))) end += LONG;
    if (isSecondHalf(text.charCodeAt(end))) end += 1;
    parts.push(text.slice(at, start), escaped(text.slice(start, end)));
    at = end;
  }
  return trusted(parts.join(''));
}

/** The place of the next character that is replaced, or the end. An expression skips the others fastest. */
function nextSpecial(text: string, at: number): number {
  NEXT_SPECIAL.lastIndex = at;
  return NEXT_SPECIAL.test(text) ? NEXT_SPECIAL.lastIndex - 1 : text.length;
}

const NEXT_SPECIAL = new RegExp(SPECIAL, 'g');

const isSecondHalf = (code: number): boolean => (code & 0xfc00) === 0xdc00;

const escaped = (text: string): string => decoder.decode(escapedBytes(new TextEncoder().encode(text)));

const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });

/** Plain loops take half the time of iterators, and a hostile text has a megabyte. */
function escapedBytes(text: Uint8Array): Uint8Array {
  let length = 0;
  for (let at = 0; at < text.length; at++) length += LENGTHS[text[at] as number] as number;
  const escaped = new Uint8Array(length + LONGEST);
  let end = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] as number;
    const bytes = LENGTHS[byte] as number;
    if (bytes === 1) escaped[end] = byte;
    else {
      // All places, whatever the length: a loop would take twice the time.
      const from = LONGEST * byte;
      escaped[end] = REPLACEMENTS[from] as number;
      escaped[end + 1] = REPLACEMENTS[from + 1] as number;
      escaped[end + 2] = REPLACEMENTS[from + 2] as number;
      escaped[end + 3] = REPLACEMENTS[from + 3] as number;
      escaped[end + 4] = REPLACEMENTS[from + 4] as number;
      escaped[end + 5] = REPLACEMENTS[from + 5] as number;
    }
    end += bytes;
  }
  return escaped.subarray(0, length);
}
