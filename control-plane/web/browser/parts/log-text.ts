/**
 * Owns what is shown of a line: what its writer meant for a terminal is taken out or made visible, but for colours. The
 * result is text, never HTML. Knows nothing of the page.
 */

/** A whole escape sequence, or the lone character: CSI with its parts, OSC (titles, links), other strings, short ones. */
const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
  /\x1b(?:\[([0-?]*)([ -/]*)([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-OQ-WYZ\\`-~])?/g;
/** Control characters, and those that would turn the direction of what follows. */
const CONTROLS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
  /[\x00-\x08\x0a-\x1a\x1c-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
const COLOURS = /\x1b\[[\d;]*m/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
const UNUSUAL = /[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

/** Of the time before each line, `YYYY-MM-DD HH:MM:SS `. */
export const STAMP_BYTES = 20;
const RETURN = 13;

/** A line in its parts. Of a progress bar what it has written last: each carriage return begins the line anew. */
export function partsOf(line: Uint8Array, isContinued: boolean): { when: Uint8Array; text: Uint8Array } {
  const start = isContinued || line.byteLength < STAMP_BYTES ? 0 : STAMP_BYTES;
  let end = line.byteLength;
  while (end > start && line[end - 1] === RETURN) end -= 1;
  const text = line.subarray(start, end);
  return {
    when: line.subarray(0, Math.max(0, start - 1)),
    text: text.subarray(text.lastIndexOf(RETURN) + 1),
  };
}

/** The line with nothing left of what controls a terminal but colours (`ESC [ ... m`). */
export function colouredText(raw: string): string {
  if (!UNUSUAL.test(raw)) return raw;
  return raw
    .replace(ESCAPES, (whole: string, parameters = '', between = '', final = '') => {
      if (final === 'm' && between === '' && /^[\d;:]*$/.test(parameters))
        return `\x1b[${parameters.replaceAll(':', ';')}m`;
      return whole === '\x1b' ? '\u241b' : '';
    })
    .replace(CONTROLS, picture);
}

/** The same without colours. */
export function plainText(raw: string): string {
  return UNUSUAL.test(raw) ? colouredText(raw).replace(COLOURS, '') : raw;
}

const picture = (character: string): string => {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? '\u2421' : '\ufffd';
};
