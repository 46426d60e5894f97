/**
 * A line for something scarce, such as memory for bodies: a total that is shared at a time, a share of it for
 * each address, and turns that go round the addresses that wait.
 */
import { OperationError } from '../../core/model/errors.ts';

export interface LineLimits {
  /** What all that runs may take together. */
  total: number;
  /** What those of one address may take together. */
  perAddress: number;
  /** Those that may wait, in all and of one address. */
  waiting: number;
  waitingPerAddress: number;
  waitMs: number;
  /** What is taken for longer is written off: workerd may end a request without notice. */
  lostMs: number;
}

interface Taken {
  address: string;
  amount: number;
  sinceMs: number;
}

interface Waiter {
  amount: number;
  admit: (taken: Taken) => void;
}

export class FairLine {
  readonly #what: string;
  readonly #limits: LineLimits;
  readonly #nowMs: () => number;
  readonly #running = new Set<Taken>();
  /** What all that runs has taken, and what each address has of it. */
  #used = 0;
  readonly #shares = new Map<string, number>();
  /** By address, the next one to be served first; of one address, in order of arrival. */
  readonly #waiting = new Map<string, Set<Waiter>>();
  #waitingCount = 0;

  /** `what` completes the message `Too many ... at the same time`. */
  constructor(what: string, limits: LineLimits, nowMs: () => number) {
    this.#what = what;
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /** The number that waits now. */
  get waiting(): number {
    return this.#waitingCount;
  }

  /**
   * Takes `amount` while the work runs. Rejects with `too-many` if too many of the address wait, and with
   * `unavailable` if too many wait in all, or if the wait is too long.
   */
  async run<T>(address: string, amount: number, work: () => Promise<T>): Promise<T> {
    this.#writeOffLost();
    const isFirst = this.#waitingCount === 0;
    const taken =
      isFirst && this.#fits(address, amount)
        ? this.#take(address, amount)
        : await this.#wait(address, amount);
    try {
      return await work();
    } finally {
      this.#release(taken);
      this.#admit();
    }
  }

  #take(address: string, amount: number): Taken {
    const taken = { address, amount, sinceMs: this.#nowMs() };
    this.#running.add(taken);
    this.#used += amount;
    this.#shares.set(address, this.#shareOf(address) + amount);
    return taken;
  }

  #release(taken: Taken): void {
    if (!this.#running.delete(taken)) return;
    this.#used -= taken.amount;
    const share = this.#shareOf(taken.address) - taken.amount;
    if (share > 0) this.#shares.set(taken.address, share);
    else this.#shares.delete(taken.address);
  }

  #shareOf(address: string): number {
    return this.#shares.get(address) ?? 0;
  }

  #fits(address: string, amount: number): boolean {
    return this.#hasRoom(amount) && !this.#isShareUsed(address, amount);
  }

  #hasRoom(amount: number): boolean {
    return this.#used + amount <= this.#limits.total;
  }

  /** True if the address must wait for others of its own. */
  #isShareUsed(address: string, amount: number): boolean {
    return this.#shareOf(address) + amount > this.#limits.perAddress;
  }

  async #wait(address: string, amount: number): Promise<Taken> {
    const { waiting, waitingPerAddress, waitMs } = this.#limits;
    const own = this.#waiting.get(address) ?? new Set<Waiter>();
    if (own.size >= waitingPerAddress) throw this.#tooMany(waitingPerAddress);
    if (this.#waitingCount >= waiting) throw this.#busy();
    this.#waiting.set(address, own);
    this.#waitingCount += 1;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const admitted = new Promise<Taken>((resolve, reject) => {
      const waiter = { amount, admit: resolve };
      own.add(waiter);
      // Without a timer of its own, a request that only waits for another request would be ended by workerd
      // as hung.
      timer = setTimeout(() => {
        if (!own.has(waiter)) return;
        this.#leave(address, waiter);
        reject(this.#busy());
        this.#admit();
      }, waitMs);
    });
    // Others may wait only for their own address.
    this.#admit();
    return admitted.finally(() => clearTimeout(timer));
  }

  #leave(address: string, waiter: Waiter): void {
    const own = this.#waiting.get(address);
    if (!own?.delete(waiter)) return;
    this.#waitingCount -= 1;
    if (own.size === 0) this.#waiting.delete(address);
  }

  /** Admits those whose turn it is. */
  #admit(): void {
    while (this.#admitNext());
  }

  /** An address that has had its turn goes to the end of the line. False if none can be admitted. */
  #admitNext(): boolean {
    for (const [address, own] of this.#waiting) {
      const [waiter] = own;
      if (!waiter || this.#isShareUsed(address, waiter.amount)) continue;
      if (!this.#hasRoom(waiter.amount)) return false;
      this.#leave(address, waiter);
      if (this.#waiting.delete(address)) this.#waiting.set(address, own);
      waiter.admit(this.#take(address, waiter.amount));
      return true;
    }
    return false;
  }

  #writeOffLost(): void {
    const lostMs = this.#nowMs() - this.#limits.lostMs;
    for (const taken of this.#running) if (taken.sinceMs <= lostMs) this.#release(taken);
  }

  #tooMany(limit: number): OperationError {
    const message = `Your address has ${limit} ${this.#what} waiting, which is the limit. Send one after the other.`;
    return new OperationError('too-many', message, { retryAfterS: 1 });
  }

  #busy(): OperationError {
    return new OperationError('unavailable', `Too many ${this.#what} at the same time; try again.`);
  }
}
