/** The port through which the passwords of users of another source than Berth are verified. */

import type { Origin } from '../../core/accounts/account.ts';
import type { StoredAccount } from '../../store/accounts/users.ts';

/** Resolves to the account as it is after the login. Throws `forbidden` for members of none of the groups. */
export type RightsOf = (account: StoredAccount, origin: Origin) => Promise<StoredAccount>;

export interface PasswordSource {
  /** Verifications at a time; further ones wait. */
  readonly maxRunning: number;
  /**
   * Whether this is the password of the user; without `username`, of a name that nobody has, which takes as
   * long. Rejects with `unavailable` if the source gives no answer.
   */
  verify(username: string | undefined, password: string): Promise<boolean>;
  /** Names of the groups of a user. Rejects with `unavailable` if the source gives no answer. */
  groupsOf(username: string): Promise<string[]>;
}
