/**
 * Long descriptions and lists are read in turns, which go round the users: a user who reads many at a time
 * must neither delay others nor fill the memory.
 */
import type { FairQueue } from '../../shared/fair-queue.ts';
import type { Limit } from '../core/metrics/limits.ts';
import { OperationError } from '../core/model/errors.ts';
import { fairLine } from './fair-line.ts';

/** Some at a time, because each waits for the database. */
const LIMITS = {
  total: 4,
  perOwner: 2,
  waiting: 10_000,
  waitingPerOwner: 1_000,
  waitMs: 30_000,
  lostMs: 120_000,
};

/** Characters after which others may run. A description up to this length is read without a turn. */
export const LONG_READ = 64 * 1024;

/** Lists of more than one page under way. A client that stops reading keeps a page of 1 MiB in memory. */
const LISTS = { total: 48, perUser: 16, idleMs: 60_000 };

export interface LongList {
  readonly userId: number;
  /** When its client last took a page. */
  readMs: number;
  /** Ends the answer, whose client has not read for long. */
  abandon(): void;
}

export class ReadTurns {
  readonly #line: FairQueue;
  readonly #nowMs: () => number;
  readonly #lists = new Set<LongList>();
  /** Characters that were read since others could run, and whether a timer will tell that they could. */
  #read = 0;
  #isTimed = false;

  constructor(nowMs: () => number) {
    this.#line = fairLine({ whose: 'You have', what: 'long reads' }, LIMITS, nowMs);
    this.#nowMs = nowMs;
  }

  get limit(): Limit {
    return { name: 'long_reads_waiting', used: this.#line.waiting, limit: LIMITS.waiting };
  }

  /** Rejects if the user, or all users, have too many reads waiting. */
  run<T>(userId: number, read: () => Promise<T>, lengthOf: (result: T) => number): Promise<T> {
    return this.#line.run(() => this.#perform(read, lengthOf), String(userId));
  }

  /** The same for the next part of a read that has begun: it may wait, however many others do. */
  goOn<T>(userId: number, read: () => Promise<T>, lengthOf: (result: T) => number): Promise<T> {
    return this.#line.continue(() => this.#perform(read, lengthOf), String(userId));
  }

  /**
   * Counts a long list until `end`. In place of one that nobody has read for a minute; otherwise throws
   * OperationError `too-many` beyond the bounds.
   */
  begin(list: LongList): void {
    if (this.#lists.has(list)) return;
    const ofUser = () => [...this.#lists].filter(({ userId }) => userId === list.userId).length;
    const isFull = () => ofUser() >= LISTS.perUser || this.#lists.size >= LISTS.total;
    if (isFull())
      for (const one of this.#lists)
        if (this.#nowMs() - one.readMs >= LISTS.idleMs) {
          this.end(one);
          one.abandon();
        }
    if (isFull())
      throw new OperationError(
        'too-many',
        `At most ${LISTS.perUser} long lists of a user, and ${LISTS.total} of all, are read at a time: read them to their end, or ask for fewer executions with limit.`,
      );
    this.#lists.add(list);
  }

  end(list: LongList): void {
    this.#lists.delete(list);
  }

  async #perform<T>(read: () => Promise<T>, lengthOf: (result: T) => number): Promise<T> {
    if (this.#read >= LONG_READ) {
      await new Promise<void>((resolve) => setTimeout(resolve, 0));
      this.#reset();
    }
    const result = await read();
    this.#read += lengthOf(result);
    if (!this.#isTimed) setTimeout(() => this.#reset(), 0);
    this.#isTimed = true;
    return result;
  }

  /** Workerd may end the timer with its request; then this is called before the next long read. */
  #reset(): void {
    this.#isTimed = false;
    this.#read = 0;
  }
}
