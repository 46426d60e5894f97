/**
 * Subscribers of streams and channels: the account that was admitted, its credential, and whether it would
 * still be admitted. Pure.
 */
import { type Account, authorise, type Credential } from '../accounts/account.ts';
import { OperationError } from '../model/errors.ts';
import type { Cluster } from '../state/cluster.ts';

export interface Subscriber {
  userId: number;
  /** The user's credential version at the time of admission. */
  credentialVersion: number;
}

/**
 * The subscriber of channels to a service. They may last for days, so its credential is checked again
 * (STREAM-4).
 */
export interface ChannelSubscriber extends Subscriber {
  credential: Credential;
  /** Owner of the execution. */
  ownerId: number;
  use: { kind: 'read-execution' } | { kind: 'exec-service' } | { kind: 'use-app'; shared: boolean };
}

export interface LogSubscriber extends ChannelSubscriber {
  /** The line with which the log ends when access is lost. Absent: the log is aborted (H298, H170). */
  lastLine?: string | undefined;
}

/**
 * Whether the user is enabled and has the credentials of the admission, as far as the coordinator has it in
 * memory. The admission may be newer than that: a reset of the password writes to the database alone (ACC-6).
 */
export function isCurrent({ userId, credentialVersion }: Subscriber, { users }: Cluster): boolean {
  const user = users.get(userId);
  return user?.enabled === true && user.credentialVersion <= credentialVersion;
}

export const ACCESS_ENDED = 'Your session or permissions have changed. Log in again.';

/**
 * Why the subscriber would not be admitted now; undefined if it would be. `account` is what its credential
 * authenticates now, if anything.
 */
export function refusalOf(
  { userId, credentialVersion, credential, use, ownerId }: ChannelSubscriber,
  account: Account | undefined,
): string | undefined {
  if (account?.user.id !== userId || account.user.credentialVersion !== credentialVersion)
    return ACCESS_ENDED;
  try {
    authorise({ kind: 'user', credential, ...account }, { ...use, ownerId });
    return undefined;
  } catch (error) {
    return error instanceof OperationError && error.code === 'forbidden' ? error.message : ACCESS_ENDED;
  }
}
