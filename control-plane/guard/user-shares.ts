/**
 * What one user may have under way at a time of what is not the submission or end of an execution: changes of
 * accounts and secrets, and explanations. The others of that user wait, so that a burst takes neither the
 * database nor the processor from other users.
 */
import type { FairQueue } from '../../shared/fair-queue.ts';
import type { Limit } from '../core/metrics/limits.ts';
import { fairLine } from './fair-line.ts';

const LIMITS = {
  total: 1_000,
  perOwner: 8,
  waiting: 10_000,
  waitingPerOwner: 1_000,
  waitMs: 30_000,
  lostMs: 120_000,
};

export class UserShares {
  readonly #line: FairQueue;

  constructor(nowMs: () => number) {
    this.#line = fairLine({ whose: 'You have', what: 'changes or explanations' }, LIMITS, nowMs);
  }

  get limit(): Limit {
    return { name: 'changes_waiting', used: this.#line.waiting, limit: LIMITS.waiting };
  }

  /** Rejects if the user, or all users, have too many waiting. */
  run<T>(userId: number, work: () => Promise<T>): Promise<T> {
    return this.#line.run(work, String(userId));
  }
}
