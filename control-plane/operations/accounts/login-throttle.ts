/**
 * Counts failed logins in the database, so that throttling holds on every isolate and after restarts (ACC-2).
 * Unknown names count like known ones. Keys are digests, because people type passwords into the name field.
 */

import { bucketsOf, FORGET_MS, waitMs } from '../../core/accounts/login-throttle.ts';
import { OperationError } from '../../core/model/errors.ts';
import { addFailure, deleteFailures, findFailures } from '../../store/accounts/login-failures.ts';
import type { Db, Statement } from '../../store/db/db.ts';
import { digest } from './digest.ts';

/** One login attempt. The caller calls one of the two methods once the result is known. */
export interface Attempt {
  failed(audit?: Statement): Promise<void>;
  succeeded(): Promise<void>;
}

/** Throws `too-many` if a login with that name from that address must wait. */
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
    failed: (audit) =>
      addFailure(db, keys, { nowMs: nowMs(), forgetMs: nowMs() - FORGET_MS }, audit && [audit]),
    // The shared buckets stay: one user's success does not clear guesses at other names.
    succeeded: async () => {
      if (failures.has(own.key)) await deleteFailures(db, own.key);
    },
  };
}
