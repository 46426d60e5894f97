/**
 * Authenticates requests by HTTP Basic, session cookie or Bearer token (ACC-1, ACC-2).
 *
 * Verified Basic credentials are cached for a minute under a keyed hash, with the session that they opened. A
 * busy Basic client therefore pays for scrypt once a minute. Throttling applies only to credentials that are
 * not in the cache.
 */
import { randomBytes } from 'node:crypto';
import {
  type Account,
  type Actor,
  type Authenticated,
  type AuthenticatedByBasic,
  authorise,
  type Credential,
  type Origin,
  type TokenKind,
} from '../../core/accounts/account.ts';
import { failedLoginNetwork } from '../../core/accounts/audit.ts';
import { subnetOf } from '../../core/accounts/network.ts';
import { MAX_CREDENTIAL_LENGTH } from '../../core/accounts/password-policy.ts';
import { looksLikePersonalToken } from '../../core/accounts/personal-token.ts';
import type { Limit } from '../../core/metrics/limits.ts';
import { LoginCounts } from '../../core/metrics/login-counts.ts';
import { OperationError } from '../../core/model/errors.ts';
import { RecentMap } from '../../core/model/recent-map.ts';
import { FamiliarAddresses } from '../../guard/familiar-addresses.ts';
import { countFailedLogin } from '../../store/accounts/audit.ts';
import { findUser } from '../../store/accounts/user-rows.ts';
import { BY_PROGRAM, findAccountBySession } from '../../store/accounts/users.ts';
import type { Db } from '../../store/db/db.ts';
import {
  PasswordVerification,
  type PasswordVerificationDeps,
  type PasswordWay,
} from '../passwords/password-verification.ts';
import { digest } from './digest.ts';
import { type Claim, ExpectedProofs } from './expected-proofs.ts';
import { beginAttempt } from './login-throttle.ts';
import { PersonalTokens } from './personal-tokens.ts';
import { REMEMBER_MS, SESSION_MS, Sessions, type SessionsDeps } from './sessions.ts';
import { type TokenDeps, type TokenRules, Tokens } from './tokens.ts';

const MAX_REMEMBERED = 10_000;

export interface BasicCredentials {
  username: string;
  password: string;
}

export interface Credentials {
  basic?: BasicCredentials;
  bearer?: string;
  /** From the request's cookie. */
  sessionToken?: string | undefined;
  /** The address of the client. It is evaluated only when a login is counted. */
  addressOf: () => string | undefined;
  /** Makes or reads the id of the request, for a login that is recorded. */
  requestIdOf?: () => string;
  /** Whether a session need admit to executions only (H169). Default: false. */
  workOnly?: boolean | undefined;
  /** Whether the client means to go on with the session of its Basic credentials. Default: false. */
  needsSession?: boolean;
}

export interface AuthenticationDeps extends TokenDeps, SessionsDeps, PasswordVerificationDeps {
  /** Null if the variant has no tokens. */
  tokenRules: TokenRules | null;
}

interface Remembered {
  sessionToken: string;
  /** Another user may have the name since. */
  userId: number;
  credentialVersion: number;
  sinceMs: number;
}

export class Authentication {
  readonly tokens: Tokens | null;
  readonly personalTokens: PersonalTokens;
  readonly counts = new LoginCounts();
  readonly #db: Db;
  readonly #expected = new ExpectedProofs();
  readonly #nowMs: () => number;
  readonly #sessions: Sessions;
  readonly #key = randomBytes(32).toString('base64url');
  readonly #passwords: PasswordVerification;
  readonly #familiarAddresses: FamiliarAddresses;
  /** By keyed hash of user name and password. */
  readonly #remembered = new RecentMap<string, Remembered>(MAX_REMEMBERED);

  constructor(deps: AuthenticationDeps) {
    this.tokens = deps.tokenRules && new Tokens(deps, deps.tokenRules);
    this.personalTokens = new PersonalTokens({ ...deps, counts: this.counts });
    this.#db = deps.db;
    this.#nowMs = deps.nowMs;
    this.#sessions = new Sessions(deps);
    this.#passwords = new PasswordVerification(deps, this.counts);
    this.#familiarAddresses = new FamiliarAddresses(deps.nowMs);
  }

  /** The bounds on logins that wait. */
  get limits(): Limit[] {
    return this.#passwords.limits;
  }

  /**
   * Basic credentials or a Bearer token of `kind` take precedence over cookies. If they are wrong, it throws;
   * a stale cookie only makes the actor anonymous.
   */
  async authenticate(credentials: Credentials, kind?: TokenKind): Promise<Authenticated> {
    return (await this.claim(credentials, kind)).prove();
  }

  /** Reads the credentials without the database. Throws if they can't be right. */
  async claim(credentials: Credentials, kind: TokenKind = 'access'): Promise<Claim> {
    const { basic, bearer, sessionToken, addressOf, requestIdOf, needsSession = false } = credentials;
    const token = (basic?.password ?? bearer) || '';
    if (kind === 'access' && looksLikePersonalToken(token))
      return this.personalTokens.claim(token, this.#expected, basic?.username);
    if (basic)
      return { prove: () => this.#basic(basic, addressOf, { needsSession, isLogin: true, requestIdOf }) };
    if (bearer !== undefined) return this.#bearer(bearer, kind);
    if (sessionToken === undefined) return { prove: async () => ANONYMOUS };
    const tokenHash = digest(sessionToken);
    const { workOnly = false } = credentials;
    return this.#expected.claim(`session ${tokenHash} ${workOnly}`, async () => {
      const account = await findAccountBySession(this.#db, tokenHash, this.#nowMs(), workOnly);
      if (!account) return ANONYMOUS;
      const credential: Credential = { by: 'session', tokenHash, ...(workOnly && { workOnly }) };
      return { by: 'cookie', actor: actorOf(account, credential) };
    });
  }

  /** Opens a separate session for a browser, by the password. Its end affects no other client of the user. */
  async logIn({ basic, addressOf, requestIdOf }: Credentials & { basic: BasicCredentials }): Promise<string> {
    const { actor } = await this.#basic(basic, addressOf);
    const account = authorise(actor, { kind: 'login' });
    return this.#sessions.openFor(account, { address: addressOf(), requestId: requestIdOf?.() });
  }

  /** Opens a separate session for the command line, by the password. No other login of the user ends it. */
  async logInProgram(basic: BasicCredentials, origin: Origin): Promise<string> {
    const { actor } = await this.#basic(basic, () => origin.address);
    const account = authorise(actor, { kind: 'login' });
    return this.#sessions.openFor(account, origin, BY_PROGRAM);
  }

  /** Throws `invalid` if this is not the user's password. Guesses are throttled like logins. */
  async confirm(username: string, password: string, addressOf: Credentials['addressOf']): Promise<void> {
    try {
      await this.#basic({ username, password }, addressOf);
    } catch (error) {
      if (!(error instanceof OperationError) || error.code !== 'unauthenticated') throw error;
      throw new OperationError('invalid', 'This is not your current password.');
    }
  }

  /** Opens a session for a user who has just ended all earlier ones, by changing the password. */
  async renew(userId: number): Promise<string> {
    const user = await findUser(this.#db, userId);
    if (!user) throw wrongCredentials();
    return this.#sessions.open(user);
  }

  async #basic(
    { username, password }: BasicCredentials,
    addressOf: () => string | undefined,
    use: BasicUse = {},
  ): Promise<AuthenticatedByBasic> {
    const { needsSession = false } = use;
    if (username.length > MAX_CREDENTIAL_LENGTH || password.length > MAX_CREDENTIAL_LENGTH)
      throw wrongCredentials();
    // The hash is keyed, because passwords can be guessed. It is not an HMAC, whose key objects cost a fifth
    // of the request. The key never leaves this process.
    const cacheKey = digest(this.#key + JSON.stringify([username, password]));
    const unchecked = await this.#withoutCheck(cacheKey, username, needsSession);
    if (unchecked) return unchecked;
    const address = addressOf();
    const login = {
      name: username,
      network: address === undefined ? '' : subnetOf(address),
      familiar: this.#remembered.has(cacheKey) || this.#familiarAddresses.has(address),
    };
    const way = await this.#passwords.wayOf(username);
    return this.#passwords.run(
      way,
      login,
      // The same client may have logged in while this call waited.
      async () =>
        (await this.#withoutCheck(cacheKey, username, needsSession)) ??
        this.#logIn({ username, password, cacheKey, way, address }, use),
    );
  }

  /**
   * Admits credentials that were verified within the last minute. With `needsSession`, not if their session
   * has ended.
   */
  async #withoutCheck(
    cacheKey: string,
    username: string,
    needsSession: boolean,
  ): Promise<AuthenticatedByBasic | undefined> {
    const found = this.#remembered.get(cacheKey);
    if (!found || this.#nowMs() - found.sinceMs >= REMEMBER_MS) return undefined;
    const [account, ofSession] = await Promise.all([
      this.#passwords.find(username),
      needsSession ? findAccountBySession(this.#db, digest(found.sessionToken), this.#nowMs()) : undefined,
    ]);
    const sessionToken = this.#recall(cacheKey, account);
    if (!account || !sessionToken) return undefined;
    if (needsSession && (!ofSession || sessionToken !== found.sessionToken)) return undefined;
    return { by: 'basic', actor: actorOf(account, BY_PASSWORD), sessionToken };
  }

  async #logIn(
    { username, password, cacheKey, way, address }: BasicLogin,
    use: BasicUse,
  ): Promise<AuthenticatedByBasic> {
    const begin = () => beginAttempt(this.#db, this.#nowMs, this.#passwords.nameOf(username), address);
    const [account, begun] = await Promise.all([
      this.#passwords.find(username),
      this.#remembered.has(cacheKey) ? undefined : begin(),
    ]);
    const earlier = this.#recall(cacheKey, account);
    // Failed guesses of others must not delay a client that has logged in here with this password before.
    const attempt = begun ?? (earlier ? undefined : await begin());
    const origin = { address, requestId: use.requestIdOf?.() };
    const admitted = await this.#passwords.verify(way, password, account, origin);
    if (!admitted) {
      const audit = countFailedLogin(failedLoginNetwork(address), this.#nowMs());
      await (attempt ? attempt.failed(audit) : this.#db.batch([audit]));
      this.#remembered.delete(cacheKey);
      // The directory has accepted these credentials before, and does not any more.
      if (earlier !== undefined && account) await this.#sessions.end(earlier, account.user.id);
      throw wrongCredentials();
    }
    await attempt?.succeeded();
    this.#familiarAddresses.add(address);
    const { id, credentialVersion } = admitted.user;
    const sessionToken =
      (admitted === account && earlier && (await this.#sessions.extended(earlier))) ||
      (await this.#openFrom(admitted, origin, use));
    this.#remembered.set(cacheKey, { sessionToken, userId: id, credentialVersion, sinceMs: this.#nowMs() });
    return { by: 'basic', actor: actorOf(admitted, BY_PASSWORD), sessionToken };
  }

  #openFrom(account: Account, origin: Origin, { isLogin }: BasicUse): Promise<string> {
    const openedFrom = digest(origin.address ?? '');
    return isLogin
      ? this.#sessions.openFor(account, origin, openedFrom)
      : this.#sessions.open(account.user, openedFrom);
  }

  async #bearer(token: string, kind: TokenKind): Promise<Claim> {
    const { tokens } = this;
    if (!tokens)
      throw new OperationError(
        'unauthenticated',
        'This is not a personal access token, and this release of the API has no access tokens of another kind. ' +
          'Check that it is whole, or use a password (HTTP Basic).',
      );
    const idHash = await tokens.read(token, kind);
    return this.#expected.claim(`${kind} ${idHash}`, async () => {
      const account = await tokens.find(idHash, kind);
      return { by: 'token', actor: actorOf(account, { by: 'token', idHash }), tokenHash: idHash };
    });
  }

  /** The session of credentials that were verified within the last 12 h and have not changed since. */
  #recall(cacheKey: string, account: Account | undefined): string | undefined {
    const found = this.#remembered.get(cacheKey);
    if (!found) return undefined;
    const isSame =
      found.userId === account?.user.id && found.credentialVersion === account.user.credentialVersion;
    if (isSame && this.#nowMs() - found.sinceMs < SESSION_MS) return found.sessionToken;
    this.#remembered.delete(cacheKey);
    return undefined;
  }
}

/** Basic credentials that are about to be verified. */
interface BasicLogin extends BasicCredentials {
  cacheKey: string;
  way: PasswordWay;
  address: string | undefined;
}

/** What Basic credentials are sent for. */
interface BasicUse {
  needsSession?: boolean;
  requestIdOf?: Credentials['requestIdOf'] | undefined;
  /** Whether a session that they open is recorded as a login. */
  isLogin?: boolean;
}

const BY_PASSWORD: Credential = { by: 'password' };
const ANONYMOUS: Authenticated = { by: 'none', actor: { kind: 'anonymous' } };
const actorOf = ({ user, role }: Account, credential: Credential): Actor => ({
  kind: 'user',
  credential,
  user,
  role,
});

const wrongCredentials = () => new OperationError('unauthenticated', 'Wrong user name or password.');
