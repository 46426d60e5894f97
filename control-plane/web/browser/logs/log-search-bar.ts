/** The search field of a log page: counts the matching lines and steps through them. */
import { byId, setText } from '../parts/element.ts';
import { ExpressionWorker, type Range } from './expression-worker.ts';
import type { LogRows } from './log-rows.ts';
import { LogSearch, patternOf, rangesOf } from './log-search.ts';

/** Texts whose matches are remembered: several screens. */
const MAX_REMEMBERED = 2_000;

export interface SearchBarEvents {
  /** All rows must be redrawn. */
  changed(): void;
  /** Scrolls to the row. */
  show(row: number): void;
  /** The user has left the search. */
  left(): void;
}

export class LogSearchBar {
  readonly #rows: LogRows;
  readonly #search: LogSearch;
  readonly #events: SearchBarEvents;
  readonly #field = byId<HTMLInputElement>('log-search');
  readonly #expression = byId<HTMLInputElement>('log-expression');
  /** Runs the expression, if the search is for one. */
  #worker: ExpressionWorker | undefined;
  /** Where the expression matches in the texts that are shown. */
  readonly #ranges = new Map<string, Range[]>();
  /** Texts whose matches the worker is to find next. */
  readonly #unknown = new Set<string>();
  #isTooSlow = false;
  /** The row of the present match. */
  #current = -1;
  /** The direction of a step that waits for the search to find its match. */
  #wanted: 'next' | 'previous' | undefined;
  #next: ReturnType<typeof setTimeout> | undefined;

  constructor(rows: LogRows, events: SearchBarEvents) {
    this.#rows = rows;
    this.#search = new LogSearch(rows);
    this.#events = events;
    this.#field.addEventListener('input', () => this.#begin());
    this.#expression.addEventListener('change', () => this.#begin());
    this.#field.addEventListener('keydown', (event) => this.#key(event));
    byId('log-next').addEventListener('click', () => this.#step(true));
    byId('log-previous').addEventListener('click', () => this.#step(false));
    document.addEventListener('keydown', (event) => this.#shortcut(event));
  }

  /**
   * The matches in a text that is shown. Those of an expression are found in the worker, after which all rows
   * are drawn again.
   */
  rangesIn(text: string): Range[] {
    if (!this.#worker) return rangesOf(text, this.#search.pattern);
    const known = this.#ranges.get(text);
    if (known) return known;
    if (this.#unknown.size === 0) setTimeout(() => void this.#findRanges());
    this.#unknown.add(text);
    return [];
  }

  async #findRanges(): Promise<void> {
    const [worker, texts] = [this.#worker, [...this.#unknown]];
    this.#unknown.clear();
    const found = await worker?.ranges(texts);
    if (!found || worker !== this.#worker) return;
    if (this.#ranges.size + texts.length > MAX_REMEMBERED) this.#ranges.clear();
    for (const [at, text] of texts.entries()) this.#ranges.set(text, found[at] ?? []);
    this.#events.changed();
  }

  get current(): number {
    return this.#current;
  }

  /** Begins again, after rows have got other numbers. */
  restart(): void {
    if (this.#search.pattern) this.#begin();
  }

  /** Searches a line again after it has grown. */
  again(row: number): void {
    this.#search.again(row);
  }

  /** Searches for one slice of time, and schedules another if rows are left. */
  goOn(): void {
    clearTimeout(this.#next);
    this.#search.step();
    this.#search.ask(() => this.goOn());
    if (this.#wanted) this.#step(this.#wanted === 'next');
    this.#showCount();
    if (!this.#search.isDone && !this.#search.isAsking) this.#next = setTimeout(() => this.goOn(), 0);
  }

  #begin(): void {
    const query = this.#field.value;
    const isExpression = this.#expression.checked;
    let pattern: RegExp | undefined;
    let isWrong = false;
    try {
      pattern = patternOf(query, isExpression);
    } catch {
      isWrong = true;
    }
    this.#mark(isWrong);
    this.#isTooSlow = false;
    this.#startWorker(pattern && isExpression ? query : undefined);
    const worker = this.#worker;
    this.#search.begin(pattern, worker && ((texts) => worker.test(texts)));
    this.#current = -1;
    this.#wanted = undefined;
    this.#events.changed();
    this.goOn();
  }

  /** Ends the expression before, and runs this one, if it is one. */
  #startWorker(query: string | undefined): void {
    this.#worker?.end();
    this.#ranges.clear();
    this.#unknown.clear();
    this.#worker = query === undefined ? undefined : new ExpressionWorker(query, () => this.#tooSlow());
  }

  #tooSlow(): void {
    this.#isTooSlow = true;
    this.#startWorker(undefined);
    this.#search.begin(undefined);
    this.#wanted = undefined;
    this.#mark(true);
    this.#events.changed();
    this.#showCount();
  }

  #mark(isWrong: boolean): void {
    if (isWrong) this.#field.setAttribute('aria-invalid', 'true');
    else this.#field.removeAttribute('aria-invalid');
  }

  #showCount(): void {
    const { count, isDone, pattern } = this.#search;
    const which =
      this.#current >= 0 ? `${this.#search.numberOf(this.#current).toLocaleString('en')} of ` : '';
    const found = `${which}${count.toLocaleString('en')} ${count === 1 ? 'line' : 'lines'}${isDone ? '' : '...'}`;
    const isWrong = this.#field.hasAttribute('aria-invalid');
    const wrong = this.#isTooSlow ? 'stopped: takes too long on this log' : 'invalid expression';
    setText(byId('log-found'), isWrong ? wrong : pattern ? found : '');
    for (const id of ['log-next', 'log-previous']) byId<HTMLButtonElement>(id).disabled = count === 0;
  }

  /** Goes to the next match. If it may not be found yet, goes there once it is. */
  #step(forwards: boolean): void {
    const edge = forwards ? this.#rows.first - 1 : this.#rows.end;
    const from = this.#current >= 0 ? this.#current : edge;
    const row = this.#search.beside(from, forwards);
    // Rows are searched from the first on: a match on this side of the last one stays the nearest.
    const isNearest = row !== undefined && (forwards ? row > from : row < from && from !== edge);
    const isFound = row !== undefined && (isNearest || this.#search.isDone);
    this.#wanted = isFound ? undefined : forwards ? 'next' : 'previous';
    if (!isFound) return;
    this.#current = row;
    this.#events.show(row);
    this.#showCount();
  }

  #key(event: KeyboardEvent): void {
    if (event.key === 'Enter') {
      event.preventDefault();
      this.#step(!event.shiftKey);
    } else if (event.key === 'Escape') {
      this.#field.value = '';
      this.#begin();
      this.#events.left();
    }
  }

  /** `/` focuses the field, as in pagers. */
  #shortcut(event: KeyboardEvent): void {
    const isTyping = event.target instanceof Element && event.target.matches('input, select, textarea');
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.#field.focus();
    this.#field.select();
  }
}
