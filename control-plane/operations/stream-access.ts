/** Access of subscribers to streams: what the coordinator must hold about one, and when to check it again. */
import type { KnownActor } from '../core/accounts/account.ts';
import { OperationError } from '../core/model/errors.ts';
import type { LogSubscriber } from '../core/streams/stream-subscriber.ts';
import type { Context } from './context.ts';

/** The caller must have authorised the account to read the owner's executions. */
export const logSubscriber = ({ user, credential }: KnownActor, ownerId: number): LogSubscriber => ({
  userId: user.id,
  credentialVersion: user.credentialVersion,
  credential,
  ownerId,
});

/** Call this after any change to the permissions of a user (`null`: of all users). */
export async function reviewSubscriptions({ coordinator }: Context, userId: number | null): Promise<void> {
  try {
    await coordinator.reviewSubscriptions(userId);
  } catch (error) {
    // A coordinator that is not available has no streams.
    if (!(error instanceof OperationError) || error.code !== 'unavailable') throw error;
  }
}
