/**
 * A lane that several owners share: runs a fixed number of tasks at once, of one owner no more than its
 * share, and takes the owners that wait in turn.
 */
export interface LaneWidths {
  /** Tasks at once. */
  all: number;
  /** Tasks of one owner at once. */
  each: number;
}

export class FairLane {
  readonly #widths: LaneWidths;
  /** Tasks that wait, by owner; the owner whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #running = new Map<string, number>();
  #total = 0;

  constructor(widths: LaneWidths) {
    this.#widths = widths;
  }

  async run<T>(owner: string, work: () => Promise<T>): Promise<T> {
    if (this.#hasRoom(owner)) this.#begin(owner);
    else await this.#wait(owner);
    try {
      return await work();
    } finally {
      this.#end(owner);
    }
  }

  #hasRoom(owner: string): boolean {
    return this.#total < this.#widths.all && (this.#running.get(owner) ?? 0) < this.#widths.each;
  }

  #begin(owner: string): void {
    this.#total += 1;
    this.#running.set(owner, (this.#running.get(owner) ?? 0) + 1);
  }

  #wait(owner: string): Promise<void> {
    return new Promise((resolve) => {
      const queue = this.#waiting.get(owner) ?? [];
      queue.push(resolve);
      this.#waiting.set(owner, queue);
    });
  }

  #end(owner: string): void {
    const left = (this.#running.get(owner) ?? 0) - 1;
    this.#total -= 1;
    if (left > 0) this.#running.set(owner, left);
    else this.#running.delete(owner);
    for (const [next, queue] of this.#waiting) {
      if (!this.#hasRoom(next)) continue;
      // The next turn is that of the other owners.
      this.#waiting.delete(next);
      const begin = queue.shift();
      if (queue.length > 0) this.#waiting.set(next, queue);
      this.#begin(next);
      begin?.();
      return;
    }
  }
}
