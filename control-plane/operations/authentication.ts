/**
 * Owns how a request proves who it is: HTTP Basic, a session cookie or a Bearer token. Verified Basic credentials are remembered for a
 * minute under a keyed hash, with the session they opened, so that a busy Basic client pays scrypt once a minute.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { type Account, type Actor, INTERNAL_SOURCE, type TokenKind } from '../core/account.ts';
import { OperationError } from '../core/errors.ts';
import type { Db } from '../store/db.ts';
import { findAccountByName, findAccountBySession, insertSession } from '../store/users.ts';
import { digest } from './digest.ts';
import { verifyPassword } from './passwords.ts';
import { type TokenRules, Tokens } from './tokens.ts';

export const SESSION_MS = 12 * 60 * 60_000;
const REMEMBER_MS = 60_000;
const MAX_REMEMBERED = 10_000;
export const MAX_CREDENTIAL_LENGTH = 1_024;

export interface Credentials {
  basic?: { username: string; password: string };
  bearer?: string;
  /** Session tokens of the request's cookies; the first that is valid counts. */
  sessionTokens: readonly string[];
}

/** Who asks, and by which credential that was proved. */
export type Authenticated =
  | { by: 'none'; actor: Actor & { kind: 'anonymous' } }
  /** With the session that the client may go on with. */
  | { by: 'basic'; actor: Actor; sessionToken: string }
  | { by: 'cookie'; actor: Actor }
  | { by: 'token'; actor: Actor; tokenHash: string };

export interface AuthenticationDeps {
  db: Db;
  nowMs: () => number;
  deploymentName: string;
  /** Null where there are no tokens. */
  tokenRules: TokenRules | null;
}

interface Remembered {
  sessionToken: string;
  credentialVersion: number;
  untilMs: number;
}

export class Authentication {
  readonly tokens: Tokens | null;
  readonly #db: Db;
  readonly #nowMs: () => number;
  readonly #key = randomBytes(32);
  /** By keyed hash of name and password; oldest first. */
  readonly #remembered = new Map<string, Remembered>();

  constructor(deps: AuthenticationDeps) {
    this.tokens = deps.tokenRules && new Tokens(deps, deps.tokenRules);
    this.#db = deps.db;
    this.#nowMs = deps.nowMs;
  }

  /**
   * Basic credentials or a Bearer token of the kind decide where they are given; wrong ones are an error, a stale cookie
   * is only nobody.
   */
  async authenticate(
    { basic, bearer, sessionTokens }: Credentials,
    kind: TokenKind = 'access',
  ): Promise<Authenticated> {
    if (basic) return this.#basic(basic.username, basic.password);
    if (bearer !== undefined) return this.#bearer(bearer, kind);
    for (const token of sessionTokens.slice(0, 4)) {
      const account = await findAccountBySession(this.#db, digest(token), this.#nowMs());
      if (account) return { by: 'cookie', actor: actorOf(account) };
    }
    return { by: 'none', actor: { kind: 'anonymous' } };
  }

  async #basic(username: string, password: string): Promise<Authenticated> {
    if (username.length > MAX_CREDENTIAL_LENGTH || password.length > MAX_CREDENTIAL_LENGTH) throw wrong();
    const account = await findAccountByName(this.#db, username);
    const memory = createHmac('sha256', this.#key)
      .update(JSON.stringify([username, password]))
      .digest('base64');
    const known = this.#recall(memory, account?.user.credentialVersion);
    if (!known && !(await verifyPassword(password, account?.passwordHash ?? null))) throw wrong();
    if (!account?.user.enabled || account.user.authSource !== INTERNAL_SOURCE) throw wrong();
    const { user } = account;
    const sessionToken = known ?? (await this.#openSession(user.id, user.credentialVersion));
    if (!known) this.#remember(memory, { sessionToken, credentialVersion: user.credentialVersion });
    return { by: 'basic', actor: actorOf(account), sessionToken };
  }

  async #bearer(token: string, kind: TokenKind): Promise<Authenticated> {
    if (!this.tokens) {
      throw new OperationError(
        'unauthenticated',
        'This release of the API has no tokens: send a user name and password (HTTP Basic) or the session cookie.',
      );
    }
    const { account, idHash } = await this.tokens.find(token, kind);
    return { by: 'token', actor: actorOf(account), tokenHash: idHash };
  }

  async #openSession(userId: number, credentialVersion: number): Promise<string> {
    const token = randomBytes(32).toString('base64url');
    const nowMs = this.#nowMs();
    const expiresMs = nowMs + SESSION_MS;
    await insertSession(this.#db, { tokenHash: digest(token), userId, credentialVersion, expiresMs }, nowMs);
    return token;
  }

  #recall(memory: string, credentialVersion: number | undefined): string | undefined {
    const found = this.#remembered.get(memory);
    if (!found) return undefined;
    if (found.untilMs > this.#nowMs() && found.credentialVersion === credentialVersion)
      return found.sessionToken;
    this.#remembered.delete(memory);
    return undefined;
  }

  #remember(memory: string, remembered: Omit<Remembered, 'untilMs'>): void {
    const oldest = this.#remembered.keys().next().value;
    if (this.#remembered.size >= MAX_REMEMBERED && oldest !== undefined) this.#remembered.delete(oldest);
    this.#remembered.set(memory, { ...remembered, untilMs: this.#nowMs() + REMEMBER_MS });
  }
}

const actorOf = ({ user, role }: Account): Actor => ({ kind: 'user', user, role });

const wrong = () => new OperationError('unauthenticated', 'Wrong user name or password.');
