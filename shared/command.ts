/** Splits a command into words as a POSIX shell does (XCU 2.2 and 2.3), without running a shell. */

/** The separators of words; other white space is part of a word. */
const BLANKS = ' \t\n';

/**
 * Returns the words of `command`, or its problem. Quotes group and are removed. A backslash escapes the next
 * character; inside double quotes only `$`, backquote, `"`, `\` and a line break. Nothing is expanded.
 */
export function splitCommand(command: string): { words: string[] } | { problem: string } {
  const words: string[] = [];
  let word: string | undefined;
  let quote: '"' | "'" | undefined;
  for (let at = 0; at < command.length; at++) {
    const char = command.charAt(at);
    if (quote === "'") {
      if (char === "'") quote = undefined;
      else word += char;
    } else if (char === '\\') {
      const next = command.charAt(++at);
      if (next === '') return { problem: 'ends with a backslash that escapes nothing' };
      if (next === '\n') continue;
      word = (word ?? '') + (quote && !'$`"\\'.includes(next) ? `\\${next}` : next);
    } else if (quote) {
      if (char === '"') quote = undefined;
      else word += char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= '';
    } else if (BLANKS.includes(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? '') + char;
    }
  }
  if (quote) return { problem: `has no closing ${quote}` };
  if (word !== undefined) words.push(word);
  return { words };
}
