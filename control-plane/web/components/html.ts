/** HTML templates by Hono: `html` escapes every inserted value except other `html` and `trusted`. */
import { html as template, raw as trusted } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

export { trusted };

/** HTML that is already escaped. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** Characters from which on `escapeLong` is used. */
const LONG = 4096;
const SPECIAL = /[&<>"']/;
/** The bytes of each character, by its code: its own, or those that replace it. */
const ESCAPED: Uint8Array[] = Array.from({ length: 256 }, (_, code) => Uint8Array.of(code));
for (const [character, text] of Object.entries({
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}))
  ESCAPED[character.charCodeAt(0)] = new TextEncoder().encode(text);
const LENGTHS = Uint8Array.from(ESCAPED, ({ length }) => length);

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
  const escaped = new Uint8Array(length);
  let end = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] as number;
    if (LENGTHS[byte] === 1) escaped[end++] = byte;
    else {
      const bytes = ESCAPED[byte] as Uint8Array;
      for (let n = 0; n < bytes.length; n++) escaped[end++] = bytes[n] as number;
    }
  }
  return escaped;
}
