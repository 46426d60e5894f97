/**
 * A line for something scarce, such as memory for bodies: a total that is shared at a time, a share of it for
 * each owner (an address or a user), and turns that go round the owners that wait.
 */
import { OperationError } from '../core/model/errors.ts';

export interface LineLimits {
  /** What all that runs may take together. */
  total: number;
  /** What those of one owner may take together. */
  perOwner: number;
  /** Those that may wait, in all and of one owner. */
  waiting: number;
  waitingPerOwner: number;
  waitMs: number;
  /** What is taken for longer is written off: workerd may end a request without notice. */
  lostMs: number;
}

/** For messages such as `Your address has 100 bodies waiting` and `Too many bodies at the same time`. */
export interface LineWords {
  whose: 'Your address has' | 'You have' | 'This host has';
  what: string;
}

interface Taken {
  owner: string;
  amount: number;
  sinceMs: number;
}

interface Waiter {
  amount: number;
  admit: (taken: Taken) => void;
}

export class FairLine {
  readonly #words: LineWords;
  readonly #limits: LineLimits;
  readonly #nowMs: () => number;
  readonly #running = new Set<Taken>();
  /** What all that runs has taken, and what each owner has of it. */
  #used = 0;
  readonly #shares = new Map<string, number>();
  /** By owner, the next one to be served first; of one owner, in order of arrival. */
  readonly #waiting = new Map<string, Set<Waiter>>();
  #waitingCount = 0;

  constructor(words: LineWords, limits: LineLimits, nowMs: () => number) {
    this.#words = words;
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /** What all that runs has taken. */
  get used(): number {
    return this.#used;
  }

  /** The number that waits now. */
  get waiting(): number {
    return this.#waitingCount;
  }

  /**
   * Takes `amount` while the work runs. Rejects with `too-many` if too many of the owner wait, and with
   * `unavailable` if too many wait in all, or if the wait is too long.
   */
  async run<T>(owner: string, amount: number, work: () => Promise<T>): Promise<T> {
    return this.#run(owner, amount, work, false);
  }

  /** The same for work that has begun: it may wait, however many others do. */
  async goOn<T>(owner: string, amount: number, work: () => Promise<T>): Promise<T> {
    return this.#run(owner, amount, work, true);
  }

  async #run<T>(owner: string, amount: number, work: () => Promise<T>, mayWait: boolean): Promise<T> {
    this.#writeOffLost();
    const isFirst = this.#waitingCount === 0;
    const taken =
      isFirst && this.#fits(owner, amount)
        ? this.#take(owner, amount)
        : await this.#wait(owner, amount, mayWait);
    try {
      return await work();
    } finally {
      this.#release(taken);
      this.#admit();
    }
  }

  #take(owner: string, amount: number): Taken {
    const taken = { owner, amount, sinceMs: this.#nowMs() };
    this.#running.add(taken);
    this.#used += amount;
    this.#shares.set(owner, this.#shareOf(owner) + amount);
    return taken;
  }

  #release(taken: Taken): void {
    if (!this.#running.delete(taken)) return;
    this.#used -= taken.amount;
    const share = this.#shareOf(taken.owner) - taken.amount;
    if (share > 0) this.#shares.set(taken.owner, share);
    else this.#shares.delete(taken.owner);
  }

  #shareOf(owner: string): number {
    return this.#shares.get(owner) ?? 0;
  }

  #fits(owner: string, amount: number): boolean {
    return this.#hasRoom(amount) && !this.#isShareUsed(owner, amount);
  }

  #hasRoom(amount: number): boolean {
    return this.#used + amount <= this.#limits.total;
  }

  /** True if the owner must wait for others of its own. */
  #isShareUsed(owner: string, amount: number): boolean {
    return this.#shareOf(owner) + amount > this.#limits.perOwner;
  }

  async #wait(owner: string, amount: number, mayWait: boolean): Promise<Taken> {
    const { waiting, waitingPerOwner, waitMs } = this.#limits;
    const own = this.#waiting.get(owner) ?? new Set<Waiter>();
    if (!mayWait && own.size >= waitingPerOwner) throw this.#tooMany(waitingPerOwner);
    if (!mayWait && this.#waitingCount >= waiting) throw this.#busy();
    this.#waiting.set(owner, own);
    this.#waitingCount += 1;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const admitted = new Promise<Taken>((resolve, reject) => {
      const waiter = { amount, admit: resolve };
      own.add(waiter);
      // Without a timer of its own, a request that only waits for another request would be ended by workerd
      // as hung.
      timer = setTimeout(() => {
        if (!own.has(waiter)) return;
        this.#leave(owner, waiter);
        reject(this.#busy());
        this.#admit();
      }, waitMs);
    });
    // Others may wait only for their own owner.
    this.#admit();
    return admitted.finally(() => clearTimeout(timer));
  }

  #leave(owner: string, waiter: Waiter): void {
    const own = this.#waiting.get(owner);
    if (!own?.delete(waiter)) return;
    this.#waitingCount -= 1;
    if (own.size === 0) this.#waiting.delete(owner);
  }

  /** Admits those whose turn it is. */
  #admit(): void {
    while (this.#admitNext());
  }

  /** An owner that has had its turn goes to the end of the line. False if none can be admitted. */
  #admitNext(): boolean {
    for (const [owner, own] of this.#waiting) {
      const [waiter] = own;
      if (!waiter || this.#isShareUsed(owner, waiter.amount)) continue;
      if (!this.#hasRoom(waiter.amount)) return false;
      this.#leave(owner, waiter);
      if (this.#waiting.delete(owner)) this.#waiting.set(owner, own);
      waiter.admit(this.#take(owner, waiter.amount));
      return true;
    }
    return false;
  }

  #writeOffLost(): void {
    const lostMs = this.#nowMs() - this.#limits.lostMs;
    for (const taken of this.#running) if (taken.sinceMs <= lostMs) this.#release(taken);
  }

  #tooMany(limit: number): OperationError {
    const message = `${this.#words.whose} ${limit} ${this.#words.what} waiting, which is the limit. Send one after the other.`;
    return new OperationError('too-many', message, { retryAfterS: 1 });
  }

  #busy(): OperationError {
    return new OperationError('unavailable', `Too many ${this.#words.what} at the same time; try again.`);
  }
}
