/** The search field of a log page: counts the matching lines and steps through them. */
import { byId, setText } from '../parts/element.ts';
import type { LogRows } from './log-rows.ts';
import { LogSearch, patternOf } from './log-search.ts';

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

  get pattern(): RegExp | undefined {
    return this.#search.pattern;
  }

  get current(): number {
    return this.#current;
  }

  /** Searches a line again after it has grown. */
  again(row: number): void {
    this.#search.again(row);
  }

  /** Searches for one slice of time, and schedules another if rows are left. */
  goOn(): void {
    clearTimeout(this.#next);
    this.#search.step();
    if (this.#wanted) this.#step(this.#wanted === 'next');
    this.#showCount();
    if (!this.#search.isDone) this.#next = setTimeout(() => this.goOn(), 0);
  }

  #begin(): void {
    let pattern: RegExp | undefined;
    let isWrong = false;
    try {
      pattern = patternOf(this.#field.value, this.#expression.checked);
    } catch {
      isWrong = true;
    }
    if (isWrong) this.#field.setAttribute('aria-invalid', 'true');
    else this.#field.removeAttribute('aria-invalid');
    this.#search.begin(pattern);
    this.#current = -1;
    this.#wanted = undefined;
    this.#events.changed();
    this.goOn();
  }

  #showCount(): void {
    const { count, isDone, pattern } = this.#search;
    const which =
      this.#current >= 0 ? `${this.#search.numberOf(this.#current).toLocaleString('en')} of ` : '';
    const found = `${which}${count.toLocaleString('en')} ${count === 1 ? 'line' : 'lines'}${isDone ? '' : '...'}`;
    const isWrong = this.#field.hasAttribute('aria-invalid');
    setText(byId('log-found'), isWrong ? 'invalid expression' : pattern ? found : '');
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
