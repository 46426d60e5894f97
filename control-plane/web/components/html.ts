/** HTML templates by Hono: `html` escapes every inserted value except other `html` and `trusted`. */
import { html as template, raw as trusted } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

export { trusted };

/** HTML that is already escaped. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** Characters from which on `escapeLong` is used. */
const LONG = 4096;
const SPECIAL = /[&<>"']/;
/** The bytes that replace a character, by its code. */
const replacements = new Map(
  Object.entries({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }).map(
    ([character, text]) => [character.charCodeAt(0), new TextEncoder().encode(text)],
  ),
);
const REPLACEMENTS = Array.from({ length: 256 }, (_, code) => replacements.get(code));

export const html = (strings: TemplateStringsArray, ...values: unknown[]): Html =>
  template(
    strings,
    ...values.map((value) => (typeof value === 'string' && value.length > LONG ? escapeLong(value) : value)),
  );

/**
 * The same text as Hono's, which joins it from one piece for each character that it replaces. Half characters
 * (lone surrogates) become U+FFFD already here, as in every answer.
 */
const escapeLong = (text: string): HtmlEscapedString =>
  trusted(SPECIAL.test(text) ? decoder.decode(escapedBytes(new TextEncoder().encode(text))) : text);

const decoder = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });

function escapedBytes(text: Uint8Array): Uint8Array {
  let length = text.length;
  for (const byte of text) length += (REPLACEMENTS[byte]?.length ?? 1) - 1;
  const escaped = new Uint8Array(length);
  let at = 0;
  for (const byte of text) {
    const replacement = REPLACEMENTS[byte];
    if (!replacement) escaped[at++] = byte;
    else for (const one of replacement) escaped[at++] = one;
  }
  return escaped;
}
