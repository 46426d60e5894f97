/**
 * Shows a long list of rows, with only the visible ones as elements. Rows have one height, or if wrapped
 * their measured height. The position is a row and the part of it above the edge. The scroll bar only
 * approximates it, because no browser supports the height of a million rows (WEB-9).
 */

export const ROW_PX = 20;
/** Browsers lose precision at heights of some ten million pixels, and fail beyond that. */
const MAX_HEIGHT_PX = 4_000_000;
/** Wrapped lists of up to this many rows are measured completely. */
const FEW_ROWS = 150;
/** A longer move in one event is a drag of the scroll bar. */
const NEAR_SCREENS = 2;
const IDLE_MS = 150;

export interface RowSource {
  readonly first: number;
  readonly end: number;
  /** Changes when the row must be redrawn. */
  size(row: number): number;
  element(row: number): HTMLElement;
}

interface Drawn {
  element: HTMLElement;
  size: number;
}

export class LogView {
  /** Follows the end as it grows. */
  isFollowing = true;
  readonly #scroller: HTMLElement;
  readonly #spacer: HTMLElement;
  readonly #list: HTMLElement;
  readonly #source: RowSource;
  readonly #moved: () => void;
  readonly #drawn = new Map<number, Drawn>();
  #row = 0;
  /** Pixels of that row above the edge. */
  #offset = 0;
  #isWrapped = false;
  #widest = 0;
  #lastTop = 0;
  /** Height of the scroller when the scroll bar was last placed. */
  #lastHeight = 0;
  #frame = 0;
  #idle: ReturnType<typeof setTimeout> | undefined;

  /** `scroller` is the scrolling element; `moved` is called after the user has scrolled. */
  constructor(scroller: HTMLElement, source: RowSource, moved: () => void) {
    this.#scroller = scroller;
    this.#source = source;
    this.#moved = moved;
    this.#spacer = document.createElement('div');
    this.#spacer.className = 'log-spacer';
    this.#list = document.createElement('div');
    this.#list.className = 'log-list';
    this.#spacer.append(this.#list);
    scroller.append(this.#spacer);
    scroller.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    new ResizeObserver(() => this.changed()).observe(scroller);
  }

  /** Rows were added, dropped or extended. */
  changed(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  /** Renders all rows again. */
  redraw(): void {
    for (const { element } of this.#drawn.values()) element.remove();
    this.#drawn.clear();
    this.changed();
  }

  wrap(isWrapped: boolean): void {
    this.#isWrapped = isWrapped;
    this.#widest = 0;
    this.#offset = 0;
    this.#scroller.classList.toggle('wrapped', isWrapped);
    this.changed();
  }

  toEnd(): void {
    this.isFollowing = true;
    // At once: a movement by a key that is still under way would otherwise count as the user's next one.
    this.#moveBar();
    this.changed();
  }

  /** Scrolls the row to the middle, unless it is visible already. */
  show(row: number): void {
    this.isFollowing = false;
    const screen = this.#rowsInView();
    if (row < this.#row + 1 || row > this.#row + screen - 2) {
      this.#row = Math.max(this.#source.first, row - Math.floor(screen / 2));
      this.#offset = 0;
    }
    this.changed();
    this.#settle();
  }

  #draw(): void {
    const { first, end } = this.#source;
    if (this.#row < first) [this.#row, this.#offset] = [first, 0];
    if (this.isFollowing) this.#placeEnd();
    else this.#normalise();
    const [from, to] = this.#range();
    for (const row of this.#drawn.keys()) if (row < from || row >= to) this.#remove(row);
    for (let row = from; row < to; row++) this.#ensure(row);
    if (end - this.#row < this.#rowsInView() + 2) this.#placeEndWhereShort();
    this.#layOut(from);
  }

  /** The rows that are elements. */
  #range(): [from: number, to: number] {
    const { first, end } = this.#source;
    if (this.#isSmall()) return [first, end];
    return [this.#row, Math.min(end, this.#row + this.#rowsInView() + 2)];
  }

  #isSmall = (): boolean => this.#isWrapped && this.#source.end - this.#source.first <= FEW_ROWS;

  #rowsInView = (): number => Math.ceil(this.#scroller.clientHeight / ROW_PX);

  /** Puts the last row at the lower edge, or the first at the upper edge if all rows fit. */
  #placeEnd(): void {
    const { first, end } = this.#source;
    const height = this.#scroller.clientHeight;
    let above = 0;
    let row = end;
    while (row > first && above < height) above += this.#height(--row);
    this.#row = row;
    this.#offset = Math.max(0, above - height);
  }

  /** Leaves no empty space below the last row. */
  #placeEndWhereShort(): void {
    let below = -this.#offset;
    for (let row = this.#row; row < this.#source.end; row++) below += this.#height(row);
    if (below >= this.#scroller.clientHeight) return;
    this.#placeEnd();
    for (let row = this.#row; row < this.#source.end; row++) this.#ensure(row);
  }

  /** Chooses the row at the upper edge so that the offset lies within it. */
  #normalise(): void {
    const { first, end } = this.#source;
    while (this.#offset < 0 && this.#row > first) this.#offset += this.#height(--this.#row);
    while (this.#row < end - 1) {
      const height = this.#height(this.#row);
      if (this.#offset < height) break;
      this.#offset -= height;
      this.#row += 1;
    }
    this.#offset = Math.max(0, this.#offset);
    this.#row = Math.min(this.#row, Math.max(first, end - 1));
  }

  #height(row: number): number {
    return this.#isWrapped ? this.#ensure(row).offsetHeight : ROW_PX;
  }

  #ensure(row: number): HTMLElement {
    const size = this.#source.size(row);
    const drawn = this.#drawn.get(row);
    if (drawn?.size === size) return drawn.element;
    const element = this.#source.element(row);
    element.dataset.row = String(row);
    if (drawn) drawn.element.replaceWith(element);
    else this.#insert(row, element);
    this.#drawn.set(row, { element, size });
    return element;
  }

  /** Keeps the elements in the order of rows; most are added at either end. */
  #insert(row: number, element: HTMLElement): void {
    let before: Element | null = null;
    for (let one = this.#list.lastElementChild; one; one = one.previousElementSibling) {
      if (Number((one as HTMLElement).dataset.row) < row) break;
      before = one;
    }
    this.#list.insertBefore(element, before);
  }

  #remove(row: number): void {
    this.#drawn.get(row)?.element.remove();
    this.#drawn.delete(row);
  }

  #layOut(from: number): void {
    let above = this.#offset;
    for (let row = from; row < this.#row; row++) above += this.#height(row);
    this.#list.style.transform = `translateY(${-above}px)`;
    this.#spacer.style.height = `${this.#total()}px`;
    // Only grows: a width that follows the visible rows would shift the page sideways.
    this.#widest = this.#isWrapped ? 0 : Math.max(this.#widest, this.#list.offsetWidth);
    this.#spacer.style.minWidth = this.#widest > 0 ? `${this.#widest}px` : '';
    if (this.isFollowing || this.#isExact()) this.#moveBar();
  }

  /** Height of all rows, as far as it is measured and supported. */
  #total(): number {
    const { first, end } = this.#source;
    if (this.#isSmall()) {
      let sum = 0;
      for (let row = first; row < end; row++) sum += this.#height(row);
      return sum;
    }
    return Math.min((end - first) * ROW_PX, MAX_HEIGHT_PX);
  }

  /** Whether a pixel of the scroll bar is a pixel of the rows. */
  #isExact(): boolean {
    const { first, end } = this.#source;
    return !this.#isWrapped && (end - first) * ROW_PX <= MAX_HEIGHT_PX;
  }

  #moveBar(): void {
    this.#scroller.scrollTop = this.#barTop();
    this.#lastTop = this.#scroller.scrollTop;
    this.#lastHeight = this.#scroller.clientHeight;
  }

  #barTop(): number {
    const { first, end } = this.#source;
    const maxTop = this.#scroller.scrollHeight - this.#scroller.clientHeight;
    if (this.isFollowing) return maxTop;
    if (this.#isExact()) return (this.#row - first) * ROW_PX + this.#offset;
    if (this.#isSmall()) {
      let above = this.#offset;
      for (let row = first; row < this.#row; row++) above += this.#height(row);
      return above;
    }
    const rows = Math.max(1, end - first - this.#rowsInView());
    const share = (this.#row - first + this.#offset / this.#height(this.#row)) / rows;
    // Only the exact edges stand for the first and the last row.
    const isFirst = this.#row === first && this.#offset === 0;
    return isFirst ? 0 : Math.min(maxTop - 2, Math.max(1, share * maxTop));
  }

  #scrolled(): void {
    const { first, end } = this.#source;
    const top = this.#scroller.scrollTop;
    const height = this.#scroller.clientHeight;
    // The browser itself scrolls a list whose window has grown: the user has not left the end.
    if (this.isFollowing && height !== this.#lastHeight) {
      this.changed();
      return;
    }
    const by = top - this.#lastTop;
    if (Math.abs(by) < 1) return;
    this.#lastTop = top;
    const maxTop = this.#scroller.scrollHeight - height;
    this.isFollowing = by > 0 && top >= maxTop - 1;
    if (top <= 0) [this.#row, this.#offset] = [first, 0];
    else if (this.#isExact()) [this.#row, this.#offset] = [first + Math.floor(top / ROW_PX), top % ROW_PX];
    else if (this.#isSmall() || Math.abs(by) <= height * NEAR_SCREENS) this.#offset += by;
    else {
      const at = (top / maxTop) * Math.max(0, end - first - this.#rowsInView());
      [this.#row, this.#offset] = [first + Math.floor(at), (at % 1) * ROW_PX];
    }
    this.changed();
    this.#settle();
    this.#moved();
  }

  /** Moves the scroll bar to the position of the rows once scrolling has stopped. */
  #settle(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#moveBar(), IDLE_MS);
  }
}
