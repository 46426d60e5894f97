/** Owns the search in a log: the rows that match, found a slice at a time so that the page stays quick. Never shows anything. */
import type { LogRows } from './log-rows.ts';
import { partsOf, plainText } from './log-text.ts';

const SLICE_MS = 12;
/** Rows between two looks at the clock. */
const STEP = 256;

const decoder = new TextDecoder();

/** What is shown of a row, without colours. */
export function textOf(rows: LogRows, row: number): string {
  const { source, line } = rows.at(row);
  const store = rows.stores[source];
  if (!store) return '';
  return plainText(decoder.decode(partsOf(store.line(line), store.isContinued(line)).text));
}

/** Of what a person types: any case; as a regular expression, or as it stands. Throws SyntaxError. */
export function patternOf(query: string, isExpression: boolean): RegExp | undefined {
  if (query === '') return undefined;
  return new RegExp(isExpression ? query : query.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'gi');
}

/** [start, end) of each match; matches of nothing are none. */
export function rangesOf(text: string, pattern: RegExp | undefined): [number, number][] {
  if (!pattern) return [];
  const found: [number, number][] = [];
  // Where it begins is kept in the pattern.
  pattern.lastIndex = 0;
  for (const { index, 0: whole } of text.matchAll(pattern)) {
    if (whole.length > 0) found.push([index, index + whole.length]);
  }
  return found;
}

export class LogSearch {
  readonly #rows: LogRows;
  #pattern: RegExp | undefined;
  /** Rows that match, in order. */
  #found: number[] = [];
  /** Rows before this one were looked at. */
  #upTo = 0;

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

  begin(pattern: RegExp | undefined): void {
    this.#pattern = pattern;
    this.#found = [];
    this.#upTo = this.#rows.first;
  }

  /** Looks at as many rows as a moment allows. */
  step(): void {
    const pattern = this.#pattern;
    if (!pattern) return;
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

  /** A line that grows is looked at again. */
  again(row: number): void {
    if (row < this.#rows.first || row >= this.#upTo) return;
    this.#upTo = row;
    this.#found.length = this.#indexAfter(row - 1);
  }

  /** The next match after `row`, from the start again behind the last; or before it. */
  beside(row: number, forwards: boolean): number | undefined {
    const at = this.#indexAfter(forwards ? row : row - 1);
    if (forwards) return this.#found[at] ?? this.#found[0];
    return this.#found[at - 1] ?? this.#found.at(-1);
  }

  /** Which match it is, from 1. */
  numberOf(row: number): number {
    return this.#indexAfter(row);
  }

  /** How many of the matches are at `row` or before. */
  #indexAfter(row: number): number {
    let [low, high] = [0, this.#found.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#found[middle] ?? 0) <= row) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Rows that were let go. */
  #forget(): void {
    this.#upTo = Math.max(this.#upTo, this.#rows.first);
    const gone = this.#indexAfter(this.#rows.first - 1);
    if (gone > 0) this.#found.splice(0, gone);
  }
}
