/**
 * Owns the order of lines from several services: by the time they were written, as far as that is known when they come. A
 * row is a service and the number of its line, five bytes. Knows nothing of the page.
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
  readonly #mostBytes: number;
  /** Of each store the first line that is no row yet, and the time of that line. */
  readonly #next: number[];
  readonly #stamps: number[];
  readonly #blocks: Rows[] = [];
  /** Number of the first row of the first block. */
  #base = 0;
  #first = 0;
  #end = 0;

  constructor(sources: number, mostBytes: number) {
    this.stores = Array.from({ length: sources }, () => new LogStore());
    this.#mostBytes = mostBytes;
    this.#next = this.stores.map(() => 0);
    this.#stamps = this.stores.map(() => 0);
  }

  /** The first row that is still here: so many were let go. */
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
    return this.bytes > this.#mostBytes;
  }

  at(row: number): Row {
    const block = this.#blocks[Math.floor((row - this.#base) / ROWS_PER_BLOCK)];
    const at = (row - this.#base) % ROWS_PER_BLOCK;
    return { source: block?.sources[at] ?? 0, line: block?.lines[at] ?? 0 };
  }

  /** Makes rows of new lines; a line waits for those services whose next one may be earlier, which is not so for `isQuiet`. */
  release(isQuiet: (source: number) => boolean): void {
    for (let source = this.#earliest(isQuiet); source >= 0; source = this.#earliest(isQuiet)) {
      this.#push(source, this.#next[source] ?? 0);
      this.#next[source] = (this.#next[source] ?? 0) + 1;
    }
  }

  /** Lets the oldest rows go where there is more than fits. */
  trim(): void {
    if (!this.isFull) return;
    const target = this.#mostBytes * 0.95;
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

  /** The service whose next line is the earliest; -1 where there is none, or it may not be known yet. */
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

  /** As a number that grows with the time; that of the line before where the line has none of its own. */
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
