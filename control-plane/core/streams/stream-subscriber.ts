/**
 * Subscribers of streams: the account that was admitted, its credential, and whether it would still be
 * admitted. Pure.
 */
import { type Account, authorise, type Credential } from '../accounts/account.ts';
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
  isAdmitted(subscriber, account, 'read-execution');

/** The same of a stream to a service. */
export const mayExec = (subscriber: LogSubscriber, account: Account | undefined): boolean =>
  isAdmitted(subscriber, account, 'exec-service');

function isAdmitted(
  { userId, credentialVersion, credential, ownerId }: LogSubscriber,
  account: Account | undefined,
  kind: 'read-execution' | 'exec-service',
): boolean {
  if (account?.user.id !== userId || account.user.credentialVersion !== credentialVersion) return false;
  try {
    authorise({ kind: 'user', credential, ...account }, { kind, ownerId });
    return true;
  } catch {
    return false;
  }
}
