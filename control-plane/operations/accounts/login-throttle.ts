/**
 * Owns the counting of failed logins, in the database, so that it holds on every isolate and over restarts. A name counts
 * alike whether or not it is a user's. Keys are digests: people type passwords where the name belongs.
 */

import { bucketsOf, FORGET_MS, waitMs } from '../../core/accounts/login-throttle.ts';
import { OperationError } from '../../core/model/errors.ts';
import { addFailure, deleteFailures, findFailures } from '../../store/accounts/login-failures.ts';
import type { Db } from '../../store/db/db.ts';
import { digest } from './digest.ts';

/** One try to log in; exactly one of the two is called when it is known how it went. */
export interface Attempt {
  failed(): Promise<void>;
  succeeded(): Promise<void>;
}

/** Throws `too-many` where a login of that name from that address has to wait. */
export async function beginAttempt(
  db: Db,
  nowMs: () => number,
  username: string,
  address: string | undefined,
): Promise<Attempt> {
  const [own, ...shared] = bucketsOf(username, address).map((one) => ({ ...one, key: digest(one.key) }));
  if (!own) throw new Error('there is always a bucket');
  const keys = [own, ...shared].map(({ key }) => key);
  const failures = await findFailures(db, keys);
  const seconds = Math.ceil(waitMs([own, ...shared], failures, nowMs()) / 1_000);
  if (seconds > 0) {
    const text = `Too many failed logins; try again in ${seconds} s.`;
    throw new OperationError('too-many', text, { retryAfterS: seconds });
  }
  return {
    failed: () => addFailure(db, keys, { nowMs: nowMs(), forgetMs: nowMs() - FORGET_MS }),
    // The shared ones stay: a success of one user says nothing of who guesses others'.
    succeeded: async () => {
      if (failures.has(own.key)) await deleteFailures(db, own.key);
    },
  };
}
