/**
 * Owns those that wait for room, and the order in which they are offered it: by the priority of their users, then those of
 * the user with the fewest executions, then by the policy. What one user wants more than once with the same needs
 * stands in one line, since of a line the first fits or none does; a line is offered room again only when there is more.
 * Pure.
 */
import type { Needs } from './needs.ts';
import type { SchedulingPolicy } from './scheduling.ts';
import type { Requirement } from './service.ts';

/** Ids ascend with the time of submission. */
export interface Waiting {
  readonly id: number;
  readonly userId: number;
  /** As its application says; what it means is the users' affair. */
  readonly size: number;
  readonly timeSubmitMs: number;
}

/** All with the same needs. */
interface Kind extends Needs {
  /** True where no host had room for it when it was last tried, nor came to have more since. */
  unfit: boolean;
  /** It was unfit until hosts grew, for the offers that follow. */
  woken: boolean;
  readonly lines: Set<Line<Waiting>>;
}

interface Row<T> {
  readonly userId: number;
  /** In the order of the policy. */
  readonly items: T[];
}

interface Line<T> extends Row<T> {
  readonly kind: Kind;
  /** Of the items the one submitted first, where it is known. */
  oldest: T | undefined;
}

export interface Offer<T> {
  item: T;
  needs: Needs;
  /** What fitted nowhere may fit now only on a host that grew. */
  woken: boolean;
  /** Says that no host has room for these needs, nor will have before one grows. */
  refuse(): void;
}

/** What of a user decides where its executions stand. */
export interface Standing {
  priority: number;
  /** Executions that have room. */
  executions: number;
}

export class Queue<T extends Waiting> {
  readonly #compare: (a: Waiting, b: Waiting) => number;
  readonly #kinds = new Map<string, Kind>();
  readonly #linesOfUser = new Map<number, Map<Kind, Line<T>>>();
  readonly #places = new Map<number, [T, Line<T>]>();
  readonly #due = new Set<Line<T>>();
  readonly #woken: Kind[] = [];

  constructor(policy: SchedulingPolicy['queue']) {
    this.#compare = comparisons[policy];
  }

  get size(): number {
    return this.#places.size;
  }

  /** Whether some are to be offered room. */
  get isDue(): boolean {
    return this.#due.size > 0;
  }

  has(id: number): boolean {
    return this.#places.has(id);
  }

  add(item: T, needs: Needs): void {
    const line = this.#line(item.userId, needs);
    line.items.splice(placeOf(line.items, item, this.#compare), 0, item);
    if (line.oldest && item.id < line.oldest.id) line.oldest = item;
    this.#places.set(item.id, [item, line]);
    if (!line.kind.unfit) this.#due.add(line);
  }

  /** One that does not wait changes nothing. */
  remove(id: number): void {
    const [item, line] = this.#places.get(id) ?? [];
    if (!item || !line) return;
    this.#places.delete(id);
    if (line.oldest === item) line.oldest = undefined;
    const at = placeOf(line.items, item, this.#compare);
    if (at === 0) line.items.shift();
    else line.items.splice(at, 1);
    if (line.items.length > 0) return;
    this.#due.delete(line);
    this.#linesOfUser.get(line.userId)?.delete(line.kind);
    if (this.#linesOfUser.get(line.userId)?.size === 0) this.#linesOfUser.delete(line.userId);
    line.kind.lines.delete(line);
    if (line.kind.lines.size === 0) this.#kinds.delete(line.kind.key);
  }

  /** A user may have more than before: what it waits for is offered room again. */
  wakeUser(userId: number): void {
    for (const line of this.#linesOfUser.get(userId)?.values() ?? [])
      if (!line.kind.unfit) this.#due.add(line);
  }

  /** Hosts may have more room: of what fitted nowhere, that is offered room again of which something may fit now. */
  wakeUnfit(mayFit: (requirement: Requirement) => boolean): void {
    for (const kind of this.#kinds.values()) {
      if (!kind.unfit || !kind.requirements.some(mayFit)) continue;
      kind.unfit = false;
      kind.woken = true;
      this.#woken.push(kind);
      for (const line of kind.lines) this.#due.add(line as Line<T>);
    }
  }

  /**
   * Offers room to those who may have it now, in order. Who takes it is removed before the next; where it isn't, no
   * other in its line has a better chance.
   */
  *offers(standingOf: (userId: number) => Standing): Generator<Offer<T>> {
    const entries = this.#ranked(this.#due, standingOf);
    this.#due.clear();
    for (let entry = entries.pop(); entry; entry = entries.pop()) {
      const { line, standing } = entry;
      const [item] = line.items;
      if (line.kind.unfit || item === undefined) continue;
      const now = standingOf(line.userId);
      if (now.executions === standing.executions) {
        const refuse = () => {
          line.kind.unfit = true;
        };
        yield { item, needs: line.kind, woken: line.kind.woken, refuse };
        if (line.items.length === 0 || line.items[0] === item) continue;
      }
      this.#insert(entries, line, standingOf(line.userId));
    }
    for (const kind of this.#woken.splice(0)) kind.woken = false;
  }

  /** All that wait, as they would be started if there were room for all; with another one, as if it waited, too. */
  order(standingOf: (userId: number) => Standing, other?: T): T[] {
    const standings = new Map<number, Standing>();
    for (const userId of this.#linesOfUser.keys()) standings.set(userId, { ...standingOf(userId) });
    const current = (userId: number) => standings.get(userId) ?? standingOf(userId);
    const lines = [...this.#linesOfUser.values()].flatMap((of) => [...of.values()]);
    const rest: Row<T>[] = lines.map(({ userId, items }) => ({ userId, items: [...items] }));
    if (other) rest.push({ userId: other.userId, items: [other] });
    const entries = this.#ranked(rest, (userId) => ({ ...current(userId) }));
    const order: T[] = [];
    for (let entry = entries.pop(); entry; entry = entries.pop()) {
      const { line } = entry;
      const now = current(line.userId);
      if (now.executions === entry.standing.executions) {
        order.push(line.items.shift() as T);
        now.executions += 1;
      }
      if (line.items.length > 0) this.#insert(entries, line, { ...now });
    }
    return order;
  }

  /** The one that was submitted first, of those of the highest priority whose needs pass `isEligible`. */
  oldest(
    standingOf: (userId: number) => Standing,
    isEligible: (item: T, needs: Needs) => boolean,
  ): T | undefined {
    let found: T | undefined;
    let priority = Number.NEGATIVE_INFINITY;
    for (const [userId, lines] of this.#linesOfUser) {
      const { priority: its } = standingOf(userId);
      if (its < priority) continue;
      for (const line of lines.values()) {
        const first = this.#oldestOf(line);
        if (found && its === priority && first.id > found.id) continue;
        if (!isEligible(first, line.kind)) continue;
        found = first;
        priority = its;
      }
    }
    return found;
  }

  #oldestOf(line: Line<T>): T {
    if (this.#compare === comparisons.FIFO) return line.items[0] as T;
    line.oldest ??= line.items.reduce((a, b) => (b.id < a.id ? b : a));
    return line.oldest;
  }

  #line(userId: number, needs: Needs): Line<T> {
    const kind = this.#kinds.get(needs.key) ?? { ...needs, unfit: false, woken: false, lines: new Set() };
    this.#kinds.set(needs.key, kind);
    const lines = this.#linesOfUser.get(userId) ?? new Map<Kind, Line<T>>();
    this.#linesOfUser.set(userId, lines);
    const line = lines.get(kind) ?? { userId, kind, items: [], oldest: undefined };
    lines.set(kind, line);
    kind.lines.add(line);
    return line;
  }

  /** The first is the last: it is popped. */
  #ranked<L extends Row<T>>(lines: Iterable<L>, standingOf: (userId: number) => Standing): Entry<L>[] {
    return Array.from(lines, (line) => ({ line, standing: standingOf(line.userId) })).sort((a, b) =>
      this.#compareEntries(b, a),
    );
  }

  #insert<L extends Row<T>>(entries: Entry<L>[], line: L, standing: Standing): void {
    const entry = { line, standing };
    entries.splice(
      placeOf(entries, entry, (a, b) => this.#compareEntries(b, a)),
      0,
      entry,
    );
  }

  #compareEntries(a: Entry<Row<T>>, b: Entry<Row<T>>): number {
    return (
      b.standing.priority - a.standing.priority ||
      a.standing.executions - b.standing.executions ||
      this.#compare(a.line.items[0] as T, b.line.items[0] as T)
    );
  }
}

interface Entry<L> {
  line: L;
  /** As it was when the entry took its place. */
  standing: Standing;
}

/** A size of DYNSIZE shrinks by 1 in this time; what waits alike keeps its order. */
const SHRINK_MS = 1_000;
const sizeAtSubmission = ({ size, timeSubmitMs }: Waiting) => size + timeSubmitMs / SHRINK_MS;

const comparisons: Record<SchedulingPolicy['queue'], (a: Waiting, b: Waiting) => number> = {
  FIFO: (a, b) => a.id - b.id,
  SIZE: (a, b) => a.size - b.size || a.id - b.id,
  DYNSIZE: (a, b) => sizeAtSubmission(a) - sizeAtSubmission(b) || a.id - b.id,
};

/** Where `item` is, or would be, in what ascends. */
function placeOf<T>(sorted: readonly T[], item: T, compare: (a: T, b: T) => number): number {
  let from = 0;
  let to = sorted.length;
  // Most come last.
  if (to > 0 && compare(sorted[to - 1] as T, item) < 0) return to;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (compare(sorted[middle] as T, item) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}
