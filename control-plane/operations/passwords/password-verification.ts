/**
 * Verifies passwords where they are kept: by a hash of Berth's own, or at the directory (ACC-17). Each way
 * has its own queue, so that a directory that is slow delays nobody whose password Berth stores.
 */
import { createHmac } from 'node:crypto';
import { INTERNAL_SOURCE, LDAP_SOURCE, type Origin, type User } from '../../core/accounts/account.ts';
import { folded } from '../../core/accounts/sign-on.ts';
import type { Limit } from '../../core/metrics/limits.ts';
import type { LoginCounts } from '../../core/metrics/login-counts.ts';
import type { WaitingLogin } from '../../guard/login-queue.ts';
import { PasswordChecks } from '../../guard/password-checks.ts';
import { StoredKey } from '../../store/accounts/secrets.ts';
import { findAccountByName, findAccountsAlike, type StoredAccount } from '../../store/accounts/users.ts';
import type { Db } from '../../store/db/db.ts';
import type { PasswordSource, RightsOf } from './password-source.ts';
import type { Passwords } from './passwords.ts';

/** Logins of users whose source is missing are reported this often at most. */
const REPORT_MS = 60_000;

export type PasswordWay = typeof INTERNAL_SOURCE | typeof LDAP_SOURCE;

export interface PasswordVerificationDeps {
  db: Db;
  passwords: Passwords;
  nowMs: () => number;
  /** Limit for logins of each way that wait for their password check, and for those of familiar clients. */
  maxWaitingLogins: number;
  /** Verifies users of `ldap`; undefined if there is no directory, or none that this host can reach. */
  directory?: PasswordSource | undefined;
  /** Gives users of the directory their role and quota; undefined if administrators do. */
  rightsOf?: RightsOf | undefined;
  /** Called when a user of `ldap` logs in where there is no directory. */
  withoutDirectory?: ((user: User) => void) | undefined;
}

export class PasswordVerification {
  readonly #deps: PasswordVerificationDeps;
  readonly #counts: LoginCounts;
  readonly #checks: Record<PasswordWay, PasswordChecks>;
  readonly #key: StoredKey;
  #reportedMs = Number.NEGATIVE_INFINITY;

  constructor(deps: PasswordVerificationDeps, counts: LoginCounts) {
    this.#deps = deps;
    this.#key = new StoredKey(deps.db, 'password-way-key');
    this.#counts = counts;
    const { nowMs, maxWaitingLogins: maxWaiting, directory } = deps;
    const maxRunning = directory?.maxRunning ?? 1;
    this.#checks = {
      internal: new PasswordChecks(nowMs, { maxWaiting }),
      ldap: new PasswordChecks(nowMs, { name: 'waiting_directory_logins', maxRunning, maxWaiting }),
    };
  }

  /** The bounds on logins that wait. */
  get limits(): Limit[] {
    const { internal, ldap } = this.#checks;
    return this.#deps.directory ? [internal.limit, ldap.limit] : [internal.limit];
  }

  /**
   * The account of a name as a person has typed it. For the directory capitals make no difference, so that
   * every way to type a name leads to one user, the oldest (H776).
   */
  async find(username: string): Promise<StoredAccount | undefined> {
    const { db, directory } = this.#deps;
    return directory
      ? chosen(await findAccountsAlike(db, username), username)
      : findAccountByName(db, username);
  }

  /** The name under which guesses are counted, however it is typed. */
  nameOf = (username: string): string => (this.#deps.directory ? folded(username) : username);

  /**
   * Where a password for this name is verified. A name that nobody has goes one way or the other, and always
   * the same: neither time nor a directory that is down may show which names are users (H343). One that is
   * typed in other capitals goes the way of the user.
   */
  async wayOf(username: string): Promise<PasswordWay> {
    const { db, directory } = this.#deps;
    if (!directory) return INTERNAL_SOURCE;
    const alike = await findAccountsAlike(db, username);
    const source = (chosen(alike, username) ?? alike[0])?.user.authSource;
    if (source === INTERNAL_SOURCE || source === LDAP_SOURCE) return source;
    const [byte = 0] = createHmac('sha256', await this.#key.text())
      .update(folded(username))
      .digest();
    return byte % 2 === 0 ? INTERNAL_SOURCE : LDAP_SOURCE;
  }

  /** Rejects with `unavailable` if the login has no place in the queue of its way, or waits too long. */
  run<T>(way: PasswordWay, login: WaitingLogin, check: () => Promise<T>): Promise<T> {
    return this.#checks[way].run(login, check);
  }

  /**
   * The account, as it is after the login, if this is its password and it may log in. Takes equally long if
   * there is none. Rejects with `unavailable` if the directory does not answer.
   */
  async verify(
    way: PasswordWay,
    password: string,
    account: StoredAccount | undefined,
    origin: Origin,
  ): Promise<StoredAccount | undefined> {
    const ofWay = account?.user.authSource === way ? account : undefined;
    const right = await (way === LDAP_SOURCE
      ? this.#verifyThere(ofWay?.user.username, password)
      : this.#deps.passwords.verify(password, ofWay?.passwordHash ?? null));
    if (account && !ofWay && account.user.authSource === LDAP_SOURCE) this.#reportMissing(account.user);
    if (!right || !ofWay?.user.enabled) {
      this.#counts.countRefusal('wrong');
      return undefined;
    }
    const { rightsOf } = this.#deps;
    const admitted = rightsOf && way === LDAP_SOURCE ? await rightsOf(ofWay, origin) : ofWay;
    this.#counts.count(way);
    return admitted;
  }

  async #verifyThere(username: string | undefined, password: string): Promise<boolean> {
    try {
      return (await this.#deps.directory?.verify(username, password)) ?? false;
    } catch (error) {
      this.#counts.countRefusal('no-answer');
      throw error;
    }
  }

  #reportMissing(user: User): void {
    const nowMs = this.#deps.nowMs();
    if (nowMs - this.#reportedMs < REPORT_MS) return;
    this.#reportedMs = nowMs;
    this.#deps.withoutDirectory?.(user);
  }
}

const chosen = (alike: readonly StoredAccount[], username: string): StoredAccount | undefined =>
  alike.find(({ user }) => user.authSource !== LDAP_SOURCE && user.username === username) ??
  alike.find(({ user }) => user.authSource === LDAP_SOURCE);
