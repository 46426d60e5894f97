/**
 * Owns what one user has waiting: a line for each of its needs, the lines in the order of the policy. They stand in blocks
 * that know the least any of their lines asks for, so that a search for what may fit passes over all others. Pure.
 */

import type { Requirement } from '../model/service.ts';
import { EPSILON } from './free-capacity.ts';
import { type Comparison, comparisons, placeOf, type Waiting } from './queue-policy.ts';
import type { Needs } from './resource-demand.ts';

/** All with the same needs, of whatever user. */
export interface Kind<T extends Waiting> extends Needs {
  /** True where no host had room for it when it was last tried, nor came to have more since. */
  unfit: boolean;
  /** The round in which it was last found unfit, or tried again since hosts had grown. */
  round: number;
  lines: readonly Line<T>[];
}

/** All of one user with the same needs: the first fits or none does. */
export interface Line<T extends Waiting> {
  readonly row: Row<T>;
  readonly kind: Kind<T>;
  /** In the order of the policy; never empty while the line stands in its row. */
  readonly items: T[];
  /** Of the items the one submitted first, where it is known. */
  oldest: T | undefined;
  /** From this round on it is to be offered room; 0 where it isn't. */
  dueFrom: number;
}

export type Amount = Pick<Requirement, 'memoryBytes' | 'cores'>;

interface Block<T extends Waiting> {
  readonly lines: Line<T>[];
  /** How many of them are due. */
  due: number;
  /** None asks for less of either. */
  leastBytes: number;
  leastCores: number;
}

/** In a block at most. */
const MOST_LINES = 64;

export class Row<T extends Waiting> {
  readonly userId: number;
  /** Lines to be offered room. */
  due = 0;
  readonly #compare: Comparison;
  readonly #blocks: Block<T>[] = [];
  readonly #lines = new Map<Kind<T>, Line<T>>();
  /** The line of what was submitted first, where it is known. */
  #oldest: Line<T> | undefined;

  constructor(userId: number, compare: Comparison) {
    this.userId = userId;
    this.#compare = compare;
  }

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  get lines(): Iterable<Line<T>> {
    return this.#lines.values();
  }

  add(item: T, kind: Kind<T>): Line<T> {
    if (this.#oldest && item.id < this.#oldestOf(this.#oldest).id) this.#oldest = undefined;
    const line = this.#lines.get(kind);
    if (!line) return this.#begin(item, kind);
    if (line.oldest && item.id < line.oldest.id) line.oldest = item;
    const at = placeOf(line.items, item, this.#compare);
    if (at === 0) this.#take(line);
    line.items.splice(at, 0, item);
    if (at === 0) this.#insert(line);
    return line;
  }

  /** A line that has lost its last item is gone. */
  remove(item: T, line: Line<T>): void {
    const { items, kind } = line;
    if (line === this.#oldest) this.#oldest = undefined;
    if (item === line.oldest) line.oldest = undefined;
    const at = placeOf(items, item, this.#compare);
    if (at > 0) {
      items.splice(at, 1);
      return;
    }
    this.setDue(line, items.length > 1 ? line.dueFrom : 0);
    this.#take(line);
    items.shift();
    if (items.length > 0) {
      this.#insert(line);
      return;
    }
    this.#lines.delete(kind);
    kind.lines = kind.lines.filter((other) => other !== line);
  }

  /** Has a line offered room from round `from` on; 0: not at all. */
  setDue(line: Line<T>, from: number): void {
    const change = Number(from > 0) - Number(line.dueFrom > 0);
    line.dueFrom = from;
    if (change === 0) return;
    this.due += change;
    const block = this.#blocks[this.#placeOf(firstOf(line))[0]];
    if (block) block.due += change;
  }

  /**
   * The first line after `after` that is wanted. Such as are not due are asked only where one of their block may need no
   * more than `most`.
   */
  next(after: T | null, most: Amount | null, isWanted: (line: Line<T>) => boolean): Line<T> | undefined {
    let [number, at] = after ? this.#placeOf(after) : [0, 0];
    for (let block = this.#blocks[number]; block; block = this.#blocks[++number]) {
      if (block.due > 0 || (most && mayHold(block, most))) {
        for (let line = block.lines[at]; line; line = block.lines[++at])
          if (firstOf(line) !== after && isWanted(line)) return line;
      }
      at = 0;
    }
    return undefined;
  }

  /** All that wait, in the order of the policy. */
  items(): T[] {
    return this.#blocks
      .flatMap(({ lines }) => lines)
      .flatMap(({ items }) => items)
      .sort(this.#compare);
  }

  /** Of those with ids below `before` the lowest that is eligible: the one submitted first. */
  oldest(before: number, isEligible: (item: T, needs: Needs) => boolean): T | undefined {
    const ages = (line: Line<T>) => this.#oldestOf(line).id;
    this.#oldest ??= [...this.#lines.values()].reduce((a, b) => (ages(b) < ages(a) ? b : a));
    const first = this.#oldestOf(this.#oldest);
    if (first.id >= before) return undefined;
    if (isEligible(first, this.#oldest.kind)) return first;
    let found: T | undefined;
    for (const line of this.#lines.values()) {
      const item = this.#oldestOf(line);
      if (item.id < (found?.id ?? before) && isEligible(item, line.kind)) found = item;
    }
    return found;
  }

  #oldestOf(line: Line<T>): T {
    if (this.#compare === comparisons.FIFO) return firstOf(line);
    line.oldest ??= line.items.reduce((a, b) => (b.id < a.id ? b : a));
    return line.oldest;
  }

  #begin(item: T, kind: Kind<T>): Line<T> {
    const line = { row: this, kind, items: [item], oldest: undefined, dueFrom: 0 };
    this.#lines.set(kind, line);
    // Not by a spread: that leaves space for sixteen more.
    kind.lines = kind.lines.concat(line);
    this.#insert(line);
    return line;
  }

  /** Puts a line where its first item belongs. */
  #insert(line: Line<T>): void {
    const blocks = this.#blocks;
    let [number, at] = this.#placeOf(firstOf(line));
    if (number > 0 && number === blocks.length) at = blocks[--number]?.lines.length ?? 0;
    const block = blocks[number];
    if (block && block.lines.length < MOST_LINES) {
      block.lines.splice(at, 0, line);
      include(block, line);
      return;
    }
    const lines = block?.lines.toSpliced(at, 0, line) ?? [line];
    // Most come last: then the block before stays full.
    const half = at === MOST_LINES ? at : MOST_LINES / 2;
    const halves = block ? [lines.slice(0, half), lines.slice(half)] : [lines];
    blocks.splice(number, 1, ...halves.map(blockOf));
  }

  /** Takes a line from where it stands. */
  #take(line: Line<T>): void {
    const [number, at] = this.#placeOf(firstOf(line));
    const lines = this.#blocks[number]?.lines.toSpliced(at, 1) ?? [];
    this.#blocks.splice(number, 1, ...(lines.length > 0 ? [blockOf(lines)] : []));
  }

  /** The block, and the place in it, of the first line that begins with `item` or later. */
  #placeOf(item: T): [number, number] {
    const number = placeOf(this.#blocks, item, ({ lines }, wanted) =>
      this.#compare(firstOf(lines.at(-1) as Line<T>), wanted),
    );
    const lines = this.#blocks[number]?.lines ?? [];
    return [number, placeOf(lines, item, (line, wanted) => this.#compare(firstOf(line), wanted))];
  }
}

const firstOf = <T extends Waiting>({ items }: Line<T>): T => items[0] as T;

function blockOf<T extends Waiting>(lines: Line<T>[]): Block<T> {
  const [leastBytes, leastCores] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const block = { lines, due: 0, leastBytes, leastCores };
  for (const line of lines) include(block, line);
  return block;
}

function include<T extends Waiting>(block: Block<T>, { dueFrom, kind }: Line<T>): void {
  if (dueFrom > 0) block.due += 1;
  for (const { memoryBytes, cores } of kind.requirements) {
    block.leastBytes = Math.min(block.leastBytes, memoryBytes);
    block.leastCores = Math.min(block.leastCores, cores);
  }
}

const mayHold = <T extends Waiting>({ leastBytes, leastCores }: Block<T>, most: Amount): boolean =>
  leastBytes <= most.memoryBytes && leastCores <= most.cores + EPSILON;
