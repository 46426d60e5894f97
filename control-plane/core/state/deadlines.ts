/** Deadlines: when to examine an execution although nothing happened. Pure. */
export class Deadlines {
  readonly #timesMs = new Map<number, number>();

  /** Sets a deadline; the earlier one wins if `id` has one already. */
  set(id: number, timeMs: number): void {
    this.#timesMs.set(id, Math.min(this.#timesMs.get(id) ?? Number.POSITIVE_INFINITY, timeMs));
  }

  /** Moves every deadline. */
  move(byMs: number): void {
    for (const [id, timeMs] of this.#timesMs) this.#timesMs.set(id, timeMs + byMs);
  }

  delete(id: number): void {
    this.#timesMs.delete(id);
  }

  /** Removes and returns the ids whose deadline has passed. */
  take(nowMs: number): number[] {
    const due = [...this.#timesMs].filter(([, timeMs]) => timeMs <= nowMs).map(([id]) => id);
    for (const id of due) this.#timesMs.delete(id);
    return due;
  }

  /** The earliest deadline, or null. */
  next(): number | null {
    let next: number | null = null;
    for (const timeMs of this.#timesMs.values()) next = Math.min(next ?? timeMs, timeMs);
    return next;
  }
}
