/** Depth of JSON texts, found without parsing them: a parser needs memory for every level. Pure. */

/** No valid body of Berth has more than 7 levels. */
export const MAX_DEPTH = 64;

const [QUOTE, BACKSLASH, OPEN_BRACE, CLOSE_BRACE] = [0x22, 0x5c, 0x7b, 0x7d];
/** Makes a brace of a square bracket, and leaves braces as they are. */
const TO_BRACE = 0x20;

/** How many lists and objects are within each other at most. The text need not be valid. */
export function depthOf(text: string): number {
  let [depth, deepest] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isSpace(code)) at = afterSpace(text, at) - 1;
    else if (code === QUOTE) at = endOfString(text, at);
    else if ((code | TO_BRACE) === OPEN_BRACE) deepest = Math.max(deepest, ++depth);
    else if ((code | TO_BRACE) === CLOSE_BRACE) depth--;
  }
  return deepest;
}

/** The place of the closing quote; the end of the text if there is none. `start` is the opening quote. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

/** The end of JSON's white space. An expression takes a tenth of the time of a loop for a long one. */
export function afterSpace(text: string, start: number): number {
  for (let at = start; at < start + SHORT; at++) if (!isSpace(text.charCodeAt(at))) return at;
  NOT_SPACE.lastIndex = start + SHORT;
  return NOT_SPACE.test(text) ? NOT_SPACE.lastIndex - 1 : text.length;
}

const SHORT = 16;
const NOT_SPACE = /[^ \n\r\t]/g;

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** What is wrong with the depth of a JSON text; undefined if it may be parsed. */
export function depthProblem(text: string): string | undefined {
  const depth = depthOf(text);
  if (depth <= MAX_DEPTH) return undefined;
  return `has ${depth} levels of lists and objects within each other; the limit is ${MAX_DEPTH}: remove levels`;
}
