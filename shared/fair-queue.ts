/**
 * A fair queue for something scarce, such as memory or places: a total that is shared at a time, a share of
 * it for each owner (a user, an address or a service), and turns that go round the owners that wait.
 */

/** Both are global in Node and in workerd, but in none of TypeScript's own libraries for this folder. */
declare const setTimeout: (run: () => void, ms: number) => unknown;
declare const clearTimeout: (timer: unknown) => void;

export interface FairLimits {
  /** What all that runs may take together. */
  total: number;
  /** What those of one owner may take together. Absent: the total. */
  perOwner?: number;
  /** Those that may wait, in all and of one owner. Absent: without limit. */
  waiting?: number;
  waitingPerOwner?: number;
  /** Absent: however long. */
  waitMs?: number;
  /** What is taken for longer is written off: workerd may end a request without notice. Absent: never. */
  lostMs?: number;
}

/** Why work is refused: too many of its owner wait, too many wait in all, or it has waited too long. */
export type Refusal = 'owner' | 'all' | 'late';

interface Taken {
  owner: string;
  amount: number;
  sinceMs: number;
}

interface Waiter {
  amount: number;
  admit: (taken: Taken) => void;
}

export class FairQueue {
  readonly #limits: Required<FairLimits>;
  readonly #nowMs: () => number;
  readonly #refusal: (why: Refusal) => Error;
  readonly #running = new Set<Taken>();
  /** What all that runs has taken, and what each owner has of it. */
  #used = 0;
  readonly #shares = new Map<string, number>();
  /** By owner, the next one to be served first; of one owner, in order of arrival. */
  readonly #waiting = new Map<string, Set<Waiter>>();
  #waitingCount = 0;

  /** `refusal` makes the error for work that is refused. Without limits on waiting, none is. */
  constructor(
    limits: FairLimits,
    nowMs: () => number = () => 0,
    refusal: (why: Refusal) => Error = (why) => new Error(why),
  ) {
    const unlimited = Number.POSITIVE_INFINITY;
    this.#limits = {
      perOwner: limits.total,
      waiting: unlimited,
      waitingPerOwner: unlimited,
      waitMs: unlimited,
      lostMs: unlimited,
      ...limits,
    };
    this.#nowMs = nowMs;
    this.#refusal = refusal;
  }

  /** What all that runs has taken. */
  get used(): number {
    return this.#used;
  }

  /** The number that waits now. */
  get waiting(): number {
    return this.#waitingCount;
  }

  /** Takes `amount` while the work runs. Rejects with the error of a refusal. */
  async run<T>(work: () => Promise<T>, owner = '', amount = 1): Promise<T> {
    return this.#run(work, owner, amount, false);
  }

  /** The same for work that has begun: it may wait, however many others do. */
  async continue<T>(work: () => Promise<T>, owner = '', amount = 1): Promise<T> {
    return this.#run(work, owner, amount, true);
  }

  async #run<T>(work: () => Promise<T>, owner: string, amount: number, mayWait: boolean): Promise<T> {
    this.#writeOffLost();
    const isFirst = this.#waitingCount === 0;
    const taken =
      isFirst && this.#hasRoom(amount) && !this.#isShareUsed(owner, amount)
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
    if (!mayWait && own.size >= waitingPerOwner) throw this.#refusal('owner');
    if (!mayWait && this.#waitingCount >= waiting) throw this.#refusal('all');
    this.#waiting.set(owner, own);
    this.#waitingCount += 1;
    let timer: unknown;
    const admitted = new Promise<Taken>((resolve, reject) => {
      const waiter = { amount, admit: resolve };
      own.add(waiter);
      if (waitMs === Number.POSITIVE_INFINITY) return;
      // Without a timer of its own, a request that only waits for another request would be ended by workerd
      // as hung.
      timer = setTimeout(() => {
        if (!own.has(waiter)) return;
        this.#leave(owner, waiter);
        reject(this.#refusal('late'));
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

  /** An owner that has had its turn goes to the end of the queue. False if none can be admitted. */
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
}
