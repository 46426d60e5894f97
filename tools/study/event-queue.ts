/**
 * Event queue in virtual time: the earliest event first, and events of equal time in the order of their
 * addition. Pure.
 */

interface Entry<T> {
  timeMs: number;
  order: number;
  event: T;
}

/** A binary heap. */
export class EventQueue<T> {
  readonly #entries: Entry<T>[] = [];
  #order = 0;

  get nextMs(): number | undefined {
    return this.#entries[0]?.timeMs;
  }

  add(timeMs: number, event: T): void {
    const entries = this.#entries;
    const entry = { timeMs, order: this.#order++, event };
    let at = entries.push(entry) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = entries[above] as Entry<T>;
      if (!isBefore(entry, parent)) break;
      entries[at] = parent;
      at = above;
    }
    entries[at] = entry;
  }

  take(): T | undefined {
    const entries = this.#entries;
    const first = entries[0];
    const last = entries.pop();
    if (last && entries.length > 0) this.#sink(last);
    return first?.event;
  }

  /** Puts an entry in the place of the first. */
  #sink(entry: Entry<T>): void {
    const entries = this.#entries;
    let at = 0;
    for (;;) {
      const [left, right] = [entries[2 * at + 1], entries[2 * at + 2]];
      const child = left && right && isBefore(right, left) ? 2 * at + 2 : 2 * at + 1;
      const below = entries[child];
      if (!below || !isBefore(below, entry)) break;
      entries[at] = below;
      at = child;
    }
    entries[at] = entry;
  }
}

const isBefore = (a: Entry<unknown>, b: Entry<unknown>): boolean =>
  a.timeMs < b.timeMs || (a.timeMs === b.timeMs && a.order < b.order);
