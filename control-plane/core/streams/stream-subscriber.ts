/** Owns who reads a stream: the account that was let in, by what, and whether that lets it in still. Pure. */
import { type Account, authorise, type Credential } from '../accounts/account.ts';
import type { Cluster } from '../state/cluster.ts';

export interface Subscriber {
  userId: number;
  /** Of the user when it was let in. */
  credentialVersion: number;
}

/** Who reads the output of a service. Its stream may last for days: what let it in is looked at again. */
export interface LogSubscriber extends Subscriber {
  credential: Credential;
  /** Whose execution it is. */
  ownerId: number;
}

/** Whether the account is the one that was let in, as far as the coordinator knows. */
export function isCurrent({ userId, credentialVersion }: Subscriber, { users }: Cluster): boolean {
  const user = users.get(userId);
  return user?.enabled === true && user.credentialVersion === credentialVersion;
}

/** Whether the reader would be let in now; `account` is the one that its credential stands for, if any. */
export function maySeeLog(reader: LogSubscriber, account: Account | undefined): boolean {
  const { userId, credentialVersion, credential, ownerId } = reader;
  if (account?.user.id !== userId || account.user.credentialVersion !== credentialVersion) return false;
  try {
    authorise({ kind: 'user', credential, ...account }, { kind: 'read-execution', ownerId });
    return true;
  } catch {
    return false;
  }
}
