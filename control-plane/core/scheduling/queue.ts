/**
 * Owns those that wait for room, and the order in which they are offered it: by the priority of their users, then those of
 * the user with the fewest executions, then by the policy. What one user wants more than once with the same needs
 * stands in one line, since of a line the first fits or none does; a line is offered room again only when there is more.
 * Pure.
 */

import type { SchedulingPolicy } from '../model/scheduler-config.ts';
import type { Growth } from './capacity-increase.ts';
import { type Comparison, comparisons, placeOf, type Waiting } from './queue-policy.ts';
import type { Needs } from './resource-demand.ts';
import { type Kind, type Line, Row } from './user-queue.ts';

export interface Offer<T> {
  item: T;
  needs: Needs;
  /** Says that no host has room for these needs, nor will have before one grows. */
  refuse(): void;
}

/** What of a user decides where its executions stand. */
export interface Standing {
  priority: number;
  /** Executions that have room. */
  executions: number;
}

/** What decides where the next of a user stands. */
interface Entry<T extends Waiting> {
  readonly item: T;
  /** As it was when the entry took its place. */
  readonly standing: Standing;
}

interface Candidate<T extends Waiting> extends Entry<T> {
  readonly line: Line<T>;
  /** What of its row was offered room before. */
  readonly after: T | null;
}

interface Place<T extends Waiting> {
  readonly item: T;
  readonly line: Line<T>;
}

export class Queue<T extends Waiting> {
  readonly #compare: Comparison;
  readonly #kinds = new Map<string, Kind<T>>();
  /** By user. */
  readonly #rows = new Map<number, Row<T>>();
  readonly #places = new Map<number, Place<T>>();
  /** Rows with lines that are to be offered room. */
  readonly #due = new Set<Row<T>>();
  /** Of offers: what becomes due in one of them is offered room in the next. */
  #round = 1;

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
    const row = this.#rows.get(item.userId) ?? new Row(item.userId, this.#compare);
    this.#rows.set(item.userId, row);
    const kind = this.#kinds.get(needs.key) ?? kindOf<T>(needs);
    this.#kinds.set(needs.key, kind);
    const line = row.add(item, kind);
    this.#places.set(item.id, { item, line });
    if (!kind.unfit && line.dueFrom === 0) this.#setDue(line, this.#round + 1);
  }

  /** One that does not wait changes nothing. */
  remove(id: number): void {
    const { item, line } = this.#places.get(id) ?? {};
    if (!item || !line) return;
    const { row, kind } = line;
    this.#places.delete(id);
    row.remove(item, line);
    if (row.due === 0) this.#due.delete(row);
    if (row.isEmpty) this.#rows.delete(row.userId);
    if (kind.lines.length === 0) this.#kinds.delete(kind.key);
  }

  /** A user may have more than before: what it waits for is offered room again. */
  wakeUser(userId: number): void {
    for (const line of this.#rows.get(userId)?.lines ?? [])
      if (!line.kind.unfit && line.dueFrom === 0) this.#setDue(line, this.#round + 1);
  }

  /**
   * Offers room to those who may have it now, in order; where hosts grew, also to what fitted nowhere and may fit now.
   * Who takes it is removed before the next; where it isn't, no other in its line has a better chance.
   */
  *offers(standingOf: (userId: number) => Standing, growth?: Growth): Generator<Offer<T>> {
    const round = ++this.#round;
    const isWanted = ({ dueFrom, kind }: Line<T>) =>
      kind.unfit ? kind.round !== round && growth?.mayFit(kind) === true : dueFrom > 0 && dueFrom <= round;
    const next = (row: Row<T>, after: T | null): Candidate<T>[] => {
      const line = row.next(after, growth?.most() ?? null, isWanted);
      const item = line?.items[0];
      return line && item ? [{ item, line, after, standing: standingOf(row.userId) }] : [];
    };
    const rows = [...(growth ? this.#rows.values() : this.#due)];
    const entries = rows.flatMap((row) => next(row, null)).sort((a, b) => this.#compareEntries(b, a));
    for (let entry = entries.pop(); entry; entry = entries.pop()) {
      const { line, item, after, standing } = entry;
      const { row } = line;
      const isCurrent = standingOf(row.userId).executions === standing.executions && isWanted(line);
      if (isCurrent) yield* this.#offer(line, item, growth);
      for (const one of next(row, isCurrent ? item : after)) this.#insert(entries, one);
    }
  }

  /** All that wait, as they would be started if there were room for all; with another one, as if it waited, too. */
  order(standingOf: (userId: number) => Standing, other?: T): T[] {
    const itemsOf = new Map(Array.from(this.#rows.values(), (row) => [row.userId, row.items()]));
    if (other) {
      const items = itemsOf.get(other.userId) ?? [];
      itemsOf.set(other.userId, items.toSpliced(placeOf(items, other, this.#compare), 0, other));
    }
    const entries = Array.from(itemsOf, ([userId, items]) => {
      const rest = items.values();
      return { rest, item: rest.next().value as T, standing: { ...standingOf(userId) } };
    }).sort((a, b) => this.#compareEntries(b, a));
    const order: T[] = [];
    for (let entry = entries.pop(); entry; entry = entries.pop()) {
      const { rest, item, standing } = entry;
      order.push(item);
      standing.executions += 1;
      const { value } = rest.next();
      if (value) this.#insert(entries, { rest, item: value, standing });
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
    for (const row of this.#rows.values()) {
      const { priority: its } = standingOf(row.userId);
      if (its < priority) continue;
      const before = its > priority ? Number.POSITIVE_INFINITY : (found?.id ?? Number.POSITIVE_INFINITY);
      const first = row.oldest(before, isEligible);
      if (!first) continue;
      found = first;
      priority = its;
    }
    return found;
  }

  *#offer(line: Line<T>, item: T, growth: Growth | undefined): Generator<Offer<T>> {
    const { kind } = line;
    if (kind.unfit) {
      kind.unfit = false;
      kind.round = this.#round;
      for (const each of kind.lines) this.#setDue(each, this.#round);
    }
    this.#setDue(line, 0);
    const hasHope = kind.round !== this.#round || growth?.mayFit(kind);
    if (hasHope) yield { item, needs: kind, refuse: () => this.#refuse(kind) };
    else this.#refuse(kind);
    if (!kind.unfit && line.items.length > 0 && line.items[0] !== item) this.#setDue(line, this.#round);
  }

  #refuse(kind: Kind<T>): void {
    kind.unfit = true;
    kind.round = this.#round;
    for (const line of kind.lines) this.#setDue(line, 0);
  }

  #setDue(line: Line<T>, from: number): void {
    const { row } = line;
    row.setDue(line, from);
    if (row.due > 0) this.#due.add(row);
    else this.#due.delete(row);
  }

  /** Puts an entry among others of which the first to come is the last: it is popped. */
  #insert<E extends Entry<T>>(entries: E[], entry: E): void {
    const at = placeOf(entries, entry, (a, b) => this.#compareEntries(b, a));
    entries.splice(at, 0, entry);
  }

  #compareEntries(a: Entry<T>, b: Entry<T>): number {
    return (
      b.standing.priority - a.standing.priority ||
      a.standing.executions - b.standing.executions ||
      this.#compare(a.item, b.item)
    );
  }
}

/** Written out, since a spread would take more memory. */
const kindOf = <T extends Waiting>({ key, requirements, usage }: Needs): Kind<T> => ({
  key,
  requirements,
  usage,
  unfit: false,
  round: 0,
  lines: NO_LINES,
});

/** Never changed: most kinds have one line, in an array of that length. */
const NO_LINES: readonly never[] = [];
