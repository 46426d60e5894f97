/** Owns the splitting of a command into words, as a POSIX shell splits them (XCU 2.2 and 2.3). No shell is run. */

/** Where words end; other white space is part of them. */
const BLANKS = ' \t\n';

/**
 * Words of `command`, or what is wrong with it. Quotes group and vanish, a backslash takes the next character as it
 * is (inside double quotes only before `$`, backquote, `"`, `\` and line break); nothing is expanded.
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
