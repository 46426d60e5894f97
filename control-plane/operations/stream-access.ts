/** Owns who reads logs, for the coordinator, and that it looks again at who reads where what lets them has changed. */
import type { KnownActor } from '../core/accounts/account.ts';
import { OperationError } from '../core/model/errors.ts';
import type { LogSubscriber } from '../core/streams/stream-subscriber.ts';
import type { Context } from './context.ts';

/** The account as subscriber of logs of an owner's execution. The caller has authorised it to read that execution. */
export const logSubscriber = ({ user, credential }: KnownActor, ownerId: number): LogSubscriber => ({
  userId: user.id,
  credentialVersion: user.credentialVersion,
  credential,
  ownerId,
});

/** For what has changed what users may see: of a user, or of all (null). */
export async function reviewSubscriptions({ coordinator }: Context, userId: number | null): Promise<void> {
  try {
    await coordinator.reviewSubscriptions(userId);
  } catch (error) {
    // Without a coordinator there are no streams.
    if (!(error instanceof OperationError) || error.code !== 'unavailable') throw error;
  }
}
