/**
 * Orders the lines of several services by their times, as far as these are determined when the lines arrive.
 * A row is a service and a line number, in five bytes. Never touches the page.
 */
import { LogStore } from './log-store.ts';
import { STAMP_BYTES } from './log-text.ts';

const ROWS_PER_BLOCK = 1 << 16;

interface Rows {
  sources: Uint8Array<ArrayBuffer>;
  lines: Uint32Array<ArrayBuffer>;
}

export interface Row {
  source: number;
  line: number;
}

export class LogRows {
  readonly stores: readonly LogStore[];
  readonly #maxBytes: number;
  /** For each store, the first line that is not a row yet, and the time of that line. */
  readonly #next: number[];
  readonly #stamps: number[];
  readonly #blocks: Rows[] = [];
  /** Number of the first row of the first block. */
  #base = 0;
  #first = 0;
  #end = 0;
  /** The time of the last row. */
  #lastStamp = 0;

  constructor(sources: number, maxBytes: number) {
    this.stores = Array.from({ length: sources }, () => new LogStore());
    this.#maxBytes = maxBytes;
    this.#next = this.stores.map(() => 0);
    this.#stamps = this.stores.map(() => 0);
  }

  /** The first row that is still stored, which is also the number of dropped rows. */
  get first(): number {
    return this.#first;
  }

  get end(): number {
    return this.#end;
  }

  get bytes(): number {
    const rows = this.#blocks.length * ROWS_PER_BLOCK * 5;
    return this.stores.reduce((sum, store) => sum + store.bytes, rows);
  }

  get isFull(): boolean {
    return this.bytes > this.#maxBytes;
  }

  at(row: number): Row {
    const block = this.#blocks[Math.floor((row - this.#base) / ROWS_PER_BLOCK)];
    const at = (row - this.#base) % ROWS_PER_BLOCK;
    return { source: block?.sources[at] ?? 0, line: block?.lines[at] ?? 0 };
  }

  /**
   * Turns new lines into rows. A line waits for services whose next line may be earlier, except those for
   * which `isQuiet` is true.
   */
  release(isQuiet: (source: number) => boolean): void {
    for (let source = this.#earliest(isQuiet); source >= 0; source = this.#earliest(isQuiet)) {
      this.#lastStamp = this.#stamps[source] ?? 0;
      this.#push(source, this.#next[source] ?? 0);
      this.#next[source] = (this.#next[source] ?? 0) + 1;
    }
  }

  /** Whether the next line of a service belongs before rows that are there. */
  isLate = (source: number): boolean =>
    this.stores.length > 1 && this.#hasNext(source) && this.#stampOf(source) < this.#lastStamp;

  /** Orders all lines that are stored again, with those that came late. */
  reorder(): void {
    this.#blocks.length = 0;
    [this.#base, this.#end, this.#lastStamp] = [this.#first, this.#first, 0];
    for (const [source, { first }] of this.stores.entries()) {
      this.#next[source] = first;
      this.#stamps[source] = 0;
    }
    this.release(() => true);
  }

  /** Drops the oldest rows if the limit is exceeded. */
  trim(): void {
    if (!this.isFull) return;
    const target = this.#maxBytes * 0.95;
    for (let dropped = 1; this.#first < this.#end; dropped++) {
      const { source, line } = this.at(this.#first);
      this.stores[source]?.dropBefore(line + 1);
      this.#first += 1;
      if (this.#first - this.#base === ROWS_PER_BLOCK) {
        this.#blocks.shift();
        this.#base = this.#first;
      }
      if (dropped % 256 === 0 && this.bytes < target) return;
    }
  }

  /** The service with the earliest next line; -1 if there is none, or if an earlier line may still arrive. */
  #earliest(isQuiet: (source: number) => boolean): number {
    let found = -1;
    let earliest = Number.POSITIVE_INFINITY;
    for (let source = 0; source < this.stores.length; source++) {
      if (!this.#hasNext(source)) {
        if (this.stores.length > 1 && !isQuiet(source)) return -1;
        continue;
      }
      const stamp = this.stores.length > 1 ? this.#stampOf(source) : 0;
      if (stamp < earliest) [found, earliest] = [source, stamp];
    }
    return found;
  }

  #hasNext = (source: number): boolean => (this.stores[source]?.end ?? 0) > (this.#next[source] ?? 0);

  /**
   * The time of the next line as a number that grows with time. A line without a time has that of the line
   * before.
   */
  #stampOf(source: number): number {
    const store = this.stores[source];
    const number = this.#next[source] ?? 0;
    const line = store?.line(number);
    if (!line || line.byteLength < STAMP_BYTES || store?.isContinued(number))
      return this.#stamps[source] ?? 0;
    let stamp = 0;
    for (let at = 0; at < STAMP_BYTES - 1; at++) {
      const digit = (line[at] ?? 0) - 48;
      if (digit >= 0 && digit <= 9) stamp = stamp * 10 + digit;
    }
    this.#stamps[source] = stamp;
    return stamp;
  }

  #push(source: number, line: number): void {
    const at = (this.#end - this.#base) % ROWS_PER_BLOCK;
    const number = Math.floor((this.#end - this.#base) / ROWS_PER_BLOCK);
    this.#blocks[number] ??= {
      sources: new Uint8Array(ROWS_PER_BLOCK),
      lines: new Uint32Array(ROWS_PER_BLOCK),
    };
    const block = this.#blocks[number];
    block.sources[at] = source;
    block.lines[at] = line;
    this.#end += 1;
  }
}
