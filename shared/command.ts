/** Splits a command into words as a POSIX shell does (XCU 2.2 and 2.3), without running a shell. */

const [TAB, LINE_FEED, SPACE, DOUBLE, SINGLE, BACKSLASH] = [0x09, 0x0a, 0x20, 0x22, 0x27, 0x5c];

/**
 * Returns the words of `command`, or its problem. Quotes group and are removed. A backslash escapes the next
 * character; inside double quotes only `$`, backquote, `"`, `\` and a line break. Nothing is expanded.
 * Copies runs of plain characters as a whole, since a command may have a megabyte. More than `maxWords` are
 * a problem, which ends the work.
 */
export function splitCommand(
  command: string,
  maxWords = Number.POSITIVE_INFINITY,
): { words: string[] } | { problem: string } {
  const words: string[] = [];
  let word: string | undefined;
  let quote: '"' | "'" | undefined;
  for (let at = 0; at < command.length; ) {
    const end = endOfRun(command, at, quote);
    if (end > at) word = word === undefined ? command.slice(at, end) : word + command.slice(at, end);
    at = end + 1;
    const char = command.charAt(end);
    if (char === '\\') {
      const next = command.charAt(at++);
      if (next === '') return { problem: 'ends with a backslash that escapes nothing' };
      if (next !== '\n') word = (word ?? '') + (quote && !'$`"\\'.includes(next) ? `\\${next}` : next);
    } else if (char === '"' || char === "'") {
      quote = quote ? undefined : char;
      word ??= '';
    } else {
      // A blank, or the end of the command.
      if (word !== undefined && !quote) words.push(word);
      if (words.length > maxWords) break;
      word = quote ? word : undefined;
      while (!quote && isBlank(command.charCodeAt(at))) at++;
    }
  }
  if (words.length > maxWords) return { problem: `has more than ${maxWords.toLocaleString('en')} words` };
  if (quote) return { problem: `has no closing ${quote}` };
  if (word !== undefined) words.push(word);
  return { words };
}

/** The next character from `at` on that is not copied as it is. */
function endOfRun(command: string, at: number, quote: '"' | "'" | undefined): number {
  if (quote === "'") {
    if (command.charCodeAt(at) === SINGLE) return at;
    const end = command.indexOf("'", at);
    return end < 0 ? command.length : end;
  }
  for (let end = at; end < command.length; end++) {
    const code = command.charCodeAt(end);
    if (code === BACKSLASH || code === DOUBLE || (!quote && (code === SINGLE || isBlank(code)))) return end;
  }
  return command.length;
}

/** The separators of words; other white space is part of a word. */
const isBlank = (code: number): boolean => code === SPACE || code === TAB || code === LINE_FEED;
