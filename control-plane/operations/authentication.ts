/**
 * Owns how a request proves who it is: HTTP Basic or a session cookie. Verified Basic credentials are remembered for a
 * minute under a keyed hash, with the session they opened, so that a busy Basic client pays scrypt once a minute.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { type Actor, INTERNAL_SOURCE } from '../core/account.ts';
import { OperationError } from '../core/errors.ts';
import type { Db } from '../store/db.ts';
import { findAccountByName, findAccountBySession, insertSession } from '../store/users.ts';
import { verifyPassword } from './passwords.ts';

export const SESSION_MS = 12 * 60 * 60_000;
const REMEMBER_MS = 60_000;
const MAX_REMEMBERED = 10_000;
export const MAX_CREDENTIAL_LENGTH = 1_024;

export interface Credentials {
  basic?: { username: string; password: string };
  /** Session tokens of the request's cookies; the first that is valid counts. */
  sessionTokens: readonly string[];
}

export interface Authenticated {
  actor: Actor;
  /** Of which credential the actor was proved; `none` for anonymous. */
  by: 'none' | 'basic' | 'cookie';
  /** The session a Basic request may go on with. */
  sessionToken?: string;
}

interface Remembered {
  sessionToken: string;
  credentialVersion: number;
  untilMs: number;
}

export class Authentication {
  readonly #db: Db;
  readonly #nowMs: () => number;
  readonly #key = randomBytes(32);
  /** By keyed hash of name and password; oldest first. */
  readonly #remembered = new Map<string, Remembered>();

  constructor(db: Db, nowMs: () => number) {
    this.#db = db;
    this.#nowMs = nowMs;
  }

  /** Basic credentials decide where they are given; wrong ones are an error, a stale cookie is only nobody. */
  async authenticate({ basic, sessionTokens }: Credentials): Promise<Authenticated> {
    if (basic) return this.#basic(basic.username, basic.password);
    for (const token of sessionTokens.slice(0, 4)) {
      const account = await findAccountBySession(this.#db, hashToken(token), this.#nowMs());
      if (account) return { actor: { kind: 'user', user: account.user, role: account.role }, by: 'cookie' };
    }
    return { actor: { kind: 'anonymous' }, by: 'none' };
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
    const { user, role } = account;
    const sessionToken = known ?? (await this.#openSession(user.id, user.credentialVersion));
    if (!known) this.#remember(memory, { sessionToken, credentialVersion: user.credentialVersion });
    return { actor: { kind: 'user', user, role }, by: 'basic', sessionToken };
  }

  async #openSession(userId: number, credentialVersion: number): Promise<string> {
    const token = randomBytes(32).toString('base64url');
    const nowMs = this.#nowMs();
    const expiresMs = nowMs + SESSION_MS;
    await insertSession(
      this.#db,
      { tokenHash: hashToken(token), userId, credentialVersion, expiresMs },
      nowMs,
    );
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

const hashToken = (token: string) => createHash('sha256').update(token).digest('base64url');

const wrong = () => new OperationError('unauthenticated', 'Wrong user name or password.');
