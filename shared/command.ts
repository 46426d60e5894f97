/** Splits a command into words as a POSIX shell does (XCU 2.2 and 2.3), without running a shell. */

const [TAB, LINE_FEED, SPACE, DOUBLE, SINGLE, BACKSLASH] = [0x09, 0x0a, 0x20, 0x22, 0x27, 0x5c];
/** What a backslash escapes inside double quotes: `$`, backquote, `"` and `\`. A line break vanishes. */
const ESCAPED = [0x24, 0x60, DOUBLE, BACKSLASH];
const UNQUOTED = 0;

/**
 * Returns the words of `command`, or its problem. Quotes group and are removed. A backslash escapes the next
 * character; inside double quotes only `$`, backquote, `"`, `\` and a line break. Nothing is expanded. More
 * than `maxWords` are a problem, which ends the work.
 */
export function splitCommand(
  command: string,
  maxWords = Number.POSITIVE_INFINITY,
): { words: string[] } | { problem: string } {
  const words: string[] = [];
  const word = new Word();
  let quote = UNQUOTED;
  for (let at = 0; at < command.length && words.length <= maxWords; at++) {
    if (quote === UNQUOTED && !word.hasBegun) {
      const end = endOfPlainWord(command, at);
      if (end > at) {
        words.push(command.slice(at, end));
        // Beyond the separator.
        at = end;
        continue;
      }
    }
    const code = command.charCodeAt(at);
    if (quote !== UNQUOTED && code === quote) quote = UNQUOTED;
    else if (code === BACKSLASH && quote !== SINGLE) {
      at += 1;
      if (at === command.length) return { problem: 'ends with a backslash that escapes nothing' };
      const next = command.charCodeAt(at);
      if (next === LINE_FEED) continue;
      if (quote === DOUBLE && !ESCAPED.includes(next)) word.add(BACKSLASH);
      word.add(next);
    } else if (quote !== UNQUOTED) word.add(code);
    else if (code === DOUBLE || code === SINGLE) {
      quote = code;
      word.begin();
    } else if (!isBlank(code)) word.add(code);
    else if (word.hasBegun) words.push(word.end());
  }
  if (quote === UNQUOTED && word.hasBegun) words.push(word.end());
  if (words.length > maxWords) return { problem: `has more than ${maxWords.toLocaleString('en')} words` };
  if (quote !== UNQUOTED) return { problem: `has no closing ${String.fromCharCode(quote)}` };
  return { words };
}

/** The command whose words are `words`: the inverse of `splitCommand`. */
export const joinCommand = (words: readonly string[]): string => words.map(quoted).join(' ');

const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

const QUOTING = /["'\\]/;

/** Whether a command has no quotes and backslashes: its words are then the parts of the text as they are. */
export const isPlain = (command: string): boolean => !QUOTING.test(command);

/** The separators of words; other white space is part of a word. */
const isBlank = (code: number): boolean => code === SPACE || code === TAB || code === LINE_FEED;

/**
 * The end of a word without quotes and backslashes, as most are: they need no copy of each character.
 * `start` itself if there is none.
 */
function endOfPlainWord(command: string, start: number): number {
  for (let at = start; at < command.length; at++) {
    const code = command.charCodeAt(at);
    if (isBlank(code)) return at;
    if (code === DOUBLE || code === SINGLE || code === BACKSLASH) return start;
  }
  return command.length;
}

/** Every engine allows as many arguments. */
const CHUNK = 4096;

/** One word after the other. Makes no string for each part: a megabyte of quoted letters has 350,000. */
class Word {
  hasBegun = false;
  #text = '';
  #codes: number[] = [];

  /** A word may be empty. */
  begin(): void {
    this.hasBegun = true;
  }

  add(code: number): void {
    this.hasBegun = true;
    if (this.#codes.push(code) === CHUNK) this.#flush();
  }

  end(): string {
    this.#flush();
    const text = this.#text;
    this.#text = '';
    this.hasBegun = false;
    return text;
  }

  #flush(): void {
    this.#text += String.fromCharCode(...this.#codes);
    this.#codes = [];
  }
}
