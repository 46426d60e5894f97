/** Searches a log for matching rows, in slices so that the page stays responsive. Never touches the page. */
import type { LogRows } from './log-rows.ts';
import { partsOf, plainText } from './log-text.ts';

const SLICE_MS = 12;
/** Rows between two readings of the clock, and of one request to `TextTest`. */
const STEP = 256;
/** Characters of one such request, or one longer row. */
const MAX_TEXT_LENGTH = 256 * 1024;

/** Whether each text has a match, found elsewhere. */
export type TextTest = (texts: readonly string[]) => Promise<boolean[]>;

const decoder = new TextDecoder();

/** The visible text of a row, without colours. */
export function textOf(rows: LogRows, row: number): string {
  const { source, line } = rows.at(row);
  const store = rows.stores[source];
  if (!store) return '';
  return plainText(decoder.decode(partsOf(store.line(line), store.isContinued(line)).text));
}

/** The pattern of a query, in any case: a regular expression or literal text. Throws SyntaxError. */
export function patternOf(query: string, isExpression: boolean): RegExp | undefined {
  if (query === '') return undefined;
  return new RegExp(isExpression ? query : query.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'gi');
}

/** The [start, end) ranges of all matches that are not empty. */
export function rangesOf(text: string, pattern: RegExp | undefined): [number, number][] {
  if (!pattern) return [];
  const found: [number, number][] = [];
  // Patterns hold their start position.
  pattern.lastIndex = 0;
  for (const { index, 0: whole } of text.matchAll(pattern)) {
    if (whole.length > 0) found.push([index, index + whole.length]);
  }
  return found;
}

export class LogSearch {
  readonly #rows: LogRows;
  #pattern: RegExp | undefined;
  /** Matching rows, in order. */
  #found: number[] = [];
  /** Rows before this one have been searched. */
  #upTo = 0;
  /** Set for expressions, which do not run here. */
  #test: TextTest | undefined;
  /** The request to `#test` whose answer counts, up to this row. */
  #asked: { end: number } | undefined;

  constructor(rows: LogRows) {
    this.#rows = rows;
  }

  get pattern(): RegExp | undefined {
    return this.#pattern;
  }

  get count(): number {
    return this.#found.length;
  }

  get isDone(): boolean {
    return !this.#pattern || this.#upTo >= this.#rows.end;
  }

  /** Whether rows are searched elsewhere at the moment. */
  get isAsking(): boolean {
    return this.#asked !== undefined;
  }

  /** `test`: what searches in place of the pattern. */
  begin(pattern: RegExp | undefined, test?: TextTest): void {
    this.#pattern = pattern;
    this.#test = test;
    this.#asked = undefined;
    this.#found = [];
    this.#upTo = this.#rows.first;
  }

  /** Searches for SLICE_MS. */
  step(): void {
    const pattern = this.#pattern;
    if (!pattern || this.#test) return;
    this.#forget();
    const untilMs = performance.now() + SLICE_MS;
    while (this.#upTo < this.#rows.end && performance.now() < untilMs) {
      const end = Math.min(this.#upTo + STEP, this.#rows.end);
      for (; this.#upTo < end; this.#upTo++) {
        pattern.lastIndex = 0;
        if (pattern.test(textOf(this.#rows, this.#upTo))) this.#found.push(this.#upTo);
      }
    }
  }

  /** Has the next rows searched elsewhere, and calls `answered` then. */
  ask(answered: () => void): void {
    if (!this.#test || this.#asked || this.isDone) return;
    this.#forget();
    const from = this.#upTo;
    const texts: string[] = [];
    for (let length = 0; from + texts.length < this.#rows.end && texts.length < STEP; ) {
      const text = textOf(this.#rows, from + texts.length);
      length += text.length;
      if (length > MAX_TEXT_LENGTH && texts.length > 0) break;
      texts.push(text);
    }
    const asked = { end: from + texts.length };
    this.#asked = asked;
    void this.#test(texts).then((found) => {
      if (this.#asked !== asked) return;
      this.#asked = undefined;
      for (const [at, isFound] of found.entries()) if (isFound) this.#found.push(from + at);
      this.#upTo = asked.end;
      answered();
    });
  }

  /** Searches a row again after its line has grown. */
  again(row: number): void {
    if (this.#asked && row < this.#asked.end) this.#asked = undefined;
    if (row < this.#rows.first || row >= this.#upTo) return;
    this.#upTo = row;
    this.#found.length = this.#indexAfter(row - 1);
  }

  /** The next match after `row`, or the one before it. Wraps around at the ends. */
  beside(row: number, forwards: boolean): number | undefined {
    const at = this.#indexAfter(forwards ? row : row - 1);
    if (forwards) return this.#found[at] ?? this.#found[0];
    return this.#found[at - 1] ?? this.#found.at(-1);
  }

  /** The number of the match, counted from 1. */
  numberOf(row: number): number {
    return this.#indexAfter(row);
  }

  /** Number of matches at or before `row`. */
  #indexAfter(row: number): number {
    let [low, high] = [0, this.#found.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#found[middle] ?? 0) <= row) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Removes matches in rows that were dropped. */
  #forget(): void {
    this.#upTo = Math.max(this.#upTo, this.#rows.first);
    const gone = this.#indexAfter(this.#rows.first - 1);
    if (gone > 0) this.#found.splice(0, gone);
  }
}
