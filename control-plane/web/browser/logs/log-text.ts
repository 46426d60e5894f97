/**
 * Reduces a line to its visible text: removes terminal sequences except colours, and makes control characters
 * visible. The result is text, never HTML. Never touches the page.
 */

/**
 * A whole escape sequence, or a lone escape character: CSI with parameters, OSC (titles, links), other
 * strings, short sequences.
 */
const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
  /\x1b(?:\[([0-?]*)([ -/]*)([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-OQ-WYZ\\`-~])?/g;
/** Control characters, and characters that change the direction of the text after them. */
const CONTROLS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
  /[\x00-\x08\x0a-\x1a\x1c-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
const COLOURS = /\x1b\[[\d;]*m/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
const UNUSUAL = /[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

/** Length of the time before each line, `YYYY-MM-DD HH:MM:SS `. */
export const STAMP_BYTES = 20;
const RETURN = 13;

/**
 * Splits a line into time and text. Each carriage return restarts the line, so only the last version counts.
 */
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

/** The line without terminal sequences except colours (`ESC [ ... m`). */
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
