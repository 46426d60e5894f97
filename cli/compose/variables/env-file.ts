/** Reads files of variables as Compose does: `.env`, and those of `env_file` and `--env-file`. Pure. */
import { interpolate, type LookUp } from './interpolation.ts';

/** As many as a service may have. */
export const MAX_VARIABLES = 1000;

/** How a file is read: as Compose does by default, or with each value as it is. */
type EnvFormat = 'quoted' | 'raw';

/**
 * The variables of a file. A name without a value takes that of `lookUp`, if it is set there. Values may
 * refer to variables of `earlier` files, too. Throws for anything else, and names its line.
 */
export function readVariables(
  text: string,
  lookUp: LookUp,
  format: EnvFormat = 'quoted',
  earlier: LookUp = lookUp,
): Map<string, string> {
  const variables = new Map<string, string>();
  const known: LookUp = (name) => lookUp(name) ?? variables.get(name) ?? earlier(name);
  const reader = new Reader(text, format === 'raw');
  while (reader.skipToName()) {
    try {
      const name = reader.name();
      const given = reader.value();
      const value = given === undefined ? lookUp(name) : filledIn(given, known);
      if (value !== undefined) variables.set(name, value);
      if (variables.size > MAX_VARIABLES) throw new Error(`is variable ${variables.size}: remove some`);
    } catch (error) {
      throw new Error(`line ${reader.line} ${(error as Error).message}`);
    }
  }
  return variables;
}

interface Given {
  text: string;
  isFilledIn: boolean;
}

const filledIn = ({ text, isFilledIn }: Given, lookUp: LookUp): string =>
  isFilledIn ? interpolate(text, lookUp).text : text;

const BLANKS = /[\s\u0085]*/y;
const COMMENT = /#[^\n]*/y;
const EXPORT = /export[ \t]+(?![=:\n])/y;
const NAME = /([\p{L}\p{N}_.[\]-]+)[^\S\n]*([=:]|(?=\n|$))[^\S\n]*/uy;
/** Only blanks before the name are left out. */
const RAW_NAME = /([\p{L}\p{N}_.[\]-]+)[^\S\n]*(=|(?=\n|$))/uy;
const LINE = /[^\n]*/y;
/** Up to the closing quote, on any number of lines. */
const SINGLE_QUOTED = /'((?:[^'\\]|\\[\s\S])*)'/y;
const REST_OF_QUOTED = /[^\S\n]*(?=\n|#|$)/y;
const DOUBLE_QUOTED = /"((?:[^"\\]|\\[\s\S])*)"/y;

class Reader {
  readonly #text: string;
  readonly #isRaw: boolean;
  #at = 0;
  #isAssigned = false;
  /** Where the variable begins, and its line. */
  #began = 0;
  line = 1;

  constructor(text: string, isRaw: boolean) {
    this.#text = text.replace(/^\ufeff/, '');
    this.#isRaw = isRaw;
  }

  /** False at the end. */
  skipToName(): boolean {
    do this.#take(BLANKS);
    while (this.#take(COMMENT)?.[0]);
    for (let at = this.#began; at < this.#at; at++) if (this.#text[at] === '\n') this.line += 1;
    this.#began = this.#at;
    return this.#at < this.#text.length;
  }

  name(): string {
    this.#take(EXPORT);
    const [, name, sign] = this.#take(this.#isRaw ? RAW_NAME : NAME) ?? [];
    if (name === undefined) throw new Error('is not NAME=VALUE');
    this.#isAssigned = sign !== '';
    return name;
  }

  /** Undefined for a name alone. */
  value(): Given | undefined {
    if (!this.#isAssigned) return undefined;
    const quote = this.#text[this.#at];
    if (this.#isRaw) return { text: this.#restOfLine().replace(/\r$/, ''), isFilledIn: false };
    if (quote !== "'" && quote !== '"')
      return { text: this.#restOfLine().replace(/ #.*$/s, '').trimEnd(), isFilledIn: true };
    const [, quoted] = this.#take(quote === "'" ? SINGLE_QUOTED : DOUBLE_QUOTED) ?? [];
    if (quoted === undefined) throw new Error('has a quote that is not closed');
    if (!this.#take(REST_OF_QUOTED)) throw new Error('has something else after its closing quote');
    const isDouble = quote === '"';
    // Either kind may have its own quote within it.
    const text = quoted.replace(/\\([\s\S])/g, (pair, letter) => (letter === quote ? letter : pair));
    return { text: isDouble ? quoted.replace(ESCAPE, unescaped) : text, isFilledIn: isDouble };
  }

  #restOfLine(): string {
    return this.#take(LINE)?.[0] ?? '';
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text) ?? undefined;
    if (found) this.#at += found[0].length;
    return found;
  }
}

const ESCAPE = /\\(0\d{0,3}|[abfnrtv$"\\])/g;
const ESCAPED: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  $: '$$',
  '"': '"',
  '\\': '\\',
};

/** Octal digits after a zero are the number of a character of one byte. */
function unescaped(whole: string, code: string): string {
  const known = ESCAPED[code];
  if (known !== undefined) return known;
  const octal = code.slice(1);
  const number = Number.parseInt(octal, 8);
  return /^[0-3][0-7]{2}$/.test(octal) ? String.fromCharCode(number) : whole;
}
