/**
 * Subscribers of streams: the account that was admitted, its credential, and whether it would still be
 * admitted. Pure.
 */
import { type Account, type Action, authorise, type Credential } from '../accounts/account.ts';
import { OperationError } from '../model/errors.ts';
import type { Cluster } from '../state/cluster.ts';

export interface Subscriber {
  userId: number;
  /** The user's credential version at the time of admission. */
  credentialVersion: number;
}

/**
 * The subscriber of a service's log. Its stream may last for days, so its credential is checked again
 * (STREAM-4).
 */
export interface LogSubscriber extends Subscriber {
  credential: Credential;
  /** Owner of the execution. */
  ownerId: number;
  /** The line with which the log ends when access is lost. Absent: the log is aborted (H298, H170). */
  lastLine?: string | undefined;
}

/** The subscriber of a stream to a service. */
export interface StreamSubscriber extends LogSubscriber {
  use: { kind: 'exec-service' } | { kind: 'use-app'; shared: boolean };
}

/**
 * Whether the user is enabled and has the credentials of the admission, as far as the coordinator has it in
 * memory. The admission may be newer than that: a reset of the password writes to the database alone (ACC-6).
 */
export function isCurrent({ userId, credentialVersion }: Subscriber, { users }: Cluster): boolean {
  const user = users.get(userId);
  return user?.enabled === true && user.credentialVersion <= credentialVersion;
}

/**
 * Whether the subscriber would be admitted now; `account` is what its credential authenticates now, if
 * anything.
 */
export const maySeeLog = (subscriber: LogSubscriber, account: Account | undefined): boolean =>
  refusalOf(subscriber, account, { kind: 'read-execution', ownerId: subscriber.ownerId }) === undefined;

/** Why a stream to a service would not be admitted now; undefined if it would be. */
export const streamRefusal = (
  subscriber: StreamSubscriber,
  account: Account | undefined,
): string | undefined => refusalOf(subscriber, account, { ...subscriber.use, ownerId: subscriber.ownerId });

export const ACCESS_ENDED = 'Your session or permissions have changed. Log in again.';

function refusalOf(
  { userId, credentialVersion, credential }: LogSubscriber,
  account: Account | undefined,
  action: Action,
): string | undefined {
  if (account?.user.id !== userId || account.user.credentialVersion !== credentialVersion)
    return ACCESS_ENDED;
  try {
    authorise({ kind: 'user', credential, ...account }, action);
    return undefined;
  } catch (error) {
    return error instanceof OperationError && error.code === 'forbidden' ? error.message : ACCESS_ENDED;
  }
}
