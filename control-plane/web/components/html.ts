/** HTML templates by Hono: `html` escapes every inserted value except other `html` and `trusted`. */
import { html as template, raw as trusted } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

export { trusted };

/** HTML that is already escaped. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** Characters from which on `escapeLong` is used. */
const LONG = 4096;
/** The ampersand comes first, since the others' replacements contain it. */
const REPLACEMENTS = [
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
] as const;

export const html = (strings: TemplateStringsArray, ...values: unknown[]): Html =>
  template(
    strings,
    ...values.map((value) => (typeof value === 'string' && value.length > LONG ? escapeLong(value) : value)),
  );

/** The same text as Hono's, which joins it from one piece for each character that it replaces. */
const escapeLong = (text: string): HtmlEscapedString =>
  trusted(
    REPLACEMENTS.reduce(
      (escaped, [character, replacement]) =>
        escaped.includes(character) ? escaped.split(character).join(replacement) : escaped,
      text,
    ),
  );
