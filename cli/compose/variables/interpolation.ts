/**
 * Fills in `$NAME`, `${NAME}`, `${NAME:-default}`, `${NAME:?error}` and `${NAME:+other}` as Compose does,
 * each also without the colon. `$$` stands for `$`, and so does a `$` before anything else. Pure.
 */

/** The value of a variable; undefined if it is not set. */
export type LookUp = (name: string) => string | undefined;

export interface Interpolated {
  text: string;
  /** Variables that are not set and have no default. They became an empty text. */
  unset: string[];
}

/** Defaults within defaults. */
const MAX_DEPTH = 10;
/** Characters of one text. The same holds for all texts of a file (document.ts). */
const MAX_LENGTH = 1 << 20;

/** Throws for what Compose refuses, too. The work grows as the text and its values do. */
export function interpolate(text: string, lookUp: LookUp): Interpolated {
  if (!text.includes('$')) return { text, unset: [] };
  const reader = new Reader(text, lookUp);
  return { text: reader.read(true, 0), unset: [...reader.unset] };
}

const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const OPERATOR = /:?[-?+]/y;
const PLAIN = /[^$]+/y;

class Reader {
  readonly unset = new Set<string>();
  readonly #text: string;
  readonly #lookUp: LookUp;
  #at = 0;
  /** The end of the text, or of the inner text that is read. */
  #end: number;
  #length = 0;

  constructor(text: string, lookUp: LookUp) {
    this.#text = text;
    this.#lookUp = lookUp;
    this.#end = text.length;
  }

  /** To the end of the text or of the inner text. `isUsed`: whether the result counts. */
  read(isUsed: boolean, depth: number): string {
    let result = '';
    while (this.#at < this.#end) {
      const plain = this.#take(PLAIN);
      result += plain === undefined ? this.#dollar(isUsed, depth) : this.#counted(plain, isUsed);
    }
    return result;
  }

  #dollar(isUsed: boolean, depth: number): string {
    this.#at += 1;
    const next = this.#text[this.#at];
    if (next === '$') {
      this.#at += 1;
      return '$';
    }
    if (next !== '{') {
      const name = this.#take(NAME);
      return name === undefined ? '$' : this.#valueOf(name, isUsed);
    }
    const closing = this.#closing();
    const outerEnd = this.#end;
    this.#end = closing ?? outerEnd;
    this.#at += 1;
    const name = this.#take(NAME);
    if (name === undefined) throw new Error('has ${ without the name of a variable: write $$ for a $');
    const value = this.#braced(name, isUsed, depth + 1);
    if (this.#at !== closing)
      throw new Error(`has \${${name} without its closing }, or with something else after the name`);
    this.#end = outerEnd;
    this.#at += 1;
    return value;
  }

  /** Where the brace here is closed: by its own, or, where braces are unequal, by the last one. */
  #closing(): number | undefined {
    let depth = 0;
    let last: number | undefined;
    for (let at = this.#at; at < this.#end; at++) {
      if (this.#text[at] === '{') depth += 1;
      if (this.#text[at] !== '}') continue;
      depth -= 1;
      last = at;
      if (depth === 0) return at;
    }
    return last;
  }

  /** What follows the name within braces, up to the closing one. */
  #braced(name: string, isUsed: boolean, depth: number): string {
    const operator = this.#take(OPERATOR);
    if (operator === undefined) return this.#valueOf(name, isUsed);
    if (depth > MAX_DEPTH) throw new Error(`has more than ${MAX_DEPTH} defaults within each other`);
    const value = this.#lookUp(name);
    const isGiven = value !== undefined && !(operator.startsWith(':') && value === '');
    const kind = operator.at(-1);
    const other = this.read(isUsed && (kind === '+') === isGiven, depth);
    if (kind === '+') return isGiven ? other : '';
    if (isGiven) return this.#counted(value, isUsed);
    if (kind === '?' && isUsed)
      throw new Error(`needs ${name}, which is not set${other === '' ? '' : `: ${other}`}`);
    return other;
  }

  #valueOf(name: string, isUsed: boolean): string {
    const value = this.#lookUp(name);
    if (value === undefined && isUsed) this.unset.add(name);
    return this.#counted(value ?? '', isUsed);
  }

  #counted(text: string, isUsed: boolean): string {
    if (!isUsed) return '';
    this.#length += text.length;
    if (this.#length > MAX_LENGTH)
      throw new Error(`has more than ${MAX_LENGTH} characters with its variables`);
    return text;
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0].slice(0, this.#end - this.#at);
    if (!found) return undefined;
    this.#at += found.length;
    return found;
  }
}
