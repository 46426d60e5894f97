/** The port through which the passwords of users of another source than Berth are verified. */

export interface PasswordSource {
  /** Verifications at a time; further ones wait. */
  readonly maxRunning: number;
  /**
   * Whether this is the password of the user; without `username`, of a name that nobody has, which takes as
   * long. Rejects with `unavailable` if the source gives no answer.
   */
  verify(username: string | undefined, password: string): Promise<boolean>;
}
