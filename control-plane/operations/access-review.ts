/** What the coordinator holds about the access of users, and when it must check it again. */
import type { KnownActor } from '../core/accounts/account.ts';
import { OperationError } from '../core/model/errors.ts';
import type { LogSubscriber } from '../core/streams/channel-subscriber.ts';
import type { Context } from './context.ts';

/** The caller must have authorised the account to read the owner's executions. */
export const logSubscriber = ({ user, credential }: KnownActor, ownerId: number): LogSubscriber => ({
  userId: user.id,
  credentialVersion: user.credentialVersion,
  credential,
  ownerId,
  use: { kind: 'read-execution' },
});

/**
 * Call this after a session or token of a user (`null`: of any user) has ended, or its permissions have
 * changed. From then on, the coordinator accepts no change by it, and its streams end.
 */
export async function reviewAccess(context: Context, userId: number | null): Promise<void> {
  await context.coordinator.forgetCredentials(userId);
  await reviewSubscriptions(context, userId);
}

/** A coordinator that is not available has no streams. */
const reviewSubscriptions = ({ coordinator }: Context, userId: number | null): Promise<void> =>
  ifAvailable(coordinator.reviewSubscriptions(userId));

/**
 * The same for sessions and tokens that end because the user got another one. If the coordinator is not
 * available now, it may later accept changes by them until a minute has passed.
 */
export const replacedCredentials = ({ coordinator }: Pick<Context, 'coordinator'>, userId: number) =>
  ifAvailable(coordinator.forgetCredentials(userId).then(() => coordinator.reviewSubscriptions(userId)));

async function ifAvailable(call: Promise<void>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof OperationError) || error.code !== 'unavailable') throw error;
  }
}
