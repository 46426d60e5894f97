/** Owns when to look at what again although nothing happened. Pure. */
export class Deadlines {
  readonly #timesMs = new Map<number, number>();

  /** Wakes `id` at `timeMs`; the earlier of several wins. */
  set(id: number, timeMs: number): void {
    this.#timesMs.set(id, Math.min(this.#timesMs.get(id) ?? Number.POSITIVE_INFINITY, timeMs));
  }

  delete(id: number): void {
    this.#timesMs.delete(id);
  }

  /** Hands out the ids that are due. */
  take(nowMs: number): number[] {
    const due = [...this.#timesMs].filter(([, timeMs]) => timeMs <= nowMs).map(([id]) => id);
    for (const id of due) this.#timesMs.delete(id);
    return due;
  }

  /** The earliest, or null. */
  next(): number | null {
    let next: number | null = null;
    for (const timeMs of this.#timesMs.values()) next = Math.min(next ?? timeMs, timeMs);
    return next;
  }
}
