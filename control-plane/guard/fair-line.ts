/** Fair queues whose refusals are errors of the API. */
import { type FairLimits, FairQueue } from '../../shared/fair-queue.ts';
import { OperationError } from '../core/model/errors.ts';

/** For messages such as `Your address has 100 bodies waiting` and `Too many bodies at the same time`. */
export interface LineWords {
  whose: 'Your address has' | 'You have' | 'This host has';
  what: string;
}

/**
 * Rejects with `too-many` if too many of the owner wait, and with `unavailable` if too many wait in all, or
 * if the wait is too long.
 */
export const fairLine = (
  { whose, what }: LineWords,
  limits: Required<FairLimits>,
  nowMs: () => number,
): FairQueue =>
  new FairQueue(limits, nowMs, (why) =>
    why === 'owner'
      ? new OperationError(
          'too-many',
          `${whose} ${limits.waitingPerOwner} ${what} waiting, which is the limit. Send one after the other.`,
          { retryAfterS: 1 },
        )
      : new OperationError('unavailable', `Too many ${what} at the same time; try again.`),
  );
