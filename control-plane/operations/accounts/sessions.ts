/** Sessions: opened by a password, extended while a client sends it again, and ended. Logins are recorded. */
import { randomBytes } from 'node:crypto';
import type { Account, Actor, Origin, User } from '../../core/accounts/account.ts';
import { entryOf } from '../../core/accounts/audit.ts';
import { insertAuditOfChange } from '../../store/accounts/audit.ts';
import { deleteSession, extendSession, insertSession } from '../../store/accounts/users.ts';
import type { Db, Statement } from '../../store/db/db.ts';
import type { Context } from '../context.ts';
import { digest } from './digest.ts';

export const SESSION_MS = 12 * 60 * 60_000;
/** How long Basic credentials are remembered, and with them their session. */
export const REMEMBER_MS = 60_000;

export interface SessionsDeps {
  db: Db;
  nowMs: () => number;
  /** Called after a session of the user has ended because another one was opened. */
  credentialsEnded(userId: number): Promise<void>;
  maxSessionsPerUser: number;
  /** How long sessions by Basic credentials admit to executions, if longer than to the rest (H169). */
  workSessionMs?: number | undefined;
}

/** The times of a session that a sign-on has opened, or of one that stems from it. */
export interface SessionTimes {
  /** Default: after 12 h. */
  expiresMs?: number;
  signedOnMs?: number;
}

type Owner = Pick<User, 'id' | 'credentialVersion'>;

export class Sessions {
  readonly #deps: SessionsDeps;

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
  }

  /** Opens a session for a login, which is recorded with it. */
  openFor(account: Account, origin: Origin, openedFrom?: string): Promise<string> {
    const { user, role } = account;
    const actor = { kind: 'user', credential: { by: 'password' }, user, role, origin } as const;
    const entry = entryOf(actor, { action: 'log-in', targetId: user.id });
    return this.open(user, openedFrom, [insertAuditOfChange(entry, this.#deps.nowMs())]);
  }

  /** `openedFrom`: digest of the address, for a session by Basic credentials. */
  async open(
    { id: userId, credentialVersion }: Owner,
    openedFrom: string | null = null,
    audit: readonly Statement[] = [],
    times: SessionTimes = {},
  ): Promise<string> {
    const { db, maxSessionsPerUser: maxPerUser } = this.#deps;
    const token = randomBytes(32).toString('base64url');
    const nowMs = this.#deps.nowMs();
    const { signedOnMs } = times;
    const life =
      times.expiresMs === undefined
        ? this.#lifeFrom(nowMs, openedFrom)
        : { expiresMs: times.expiresMs, fullUntilMs: null };
    const session = {
      tokenHash: digest(token),
      userId,
      credentialVersion,
      openedFrom,
      signedOnMs,
      ...life,
    };
    const limits = { nowMs, maxPerUser, keptMs: this.#deps.workSessionMs ?? REMEMBER_MS };
    if (await insertSession(db, session, limits, audit)) await this.#deps.credentialsEnded(userId);
    return token;
  }

  /**
   * A client that sends Basic credentials for hours keeps one session, and so do other programs with its
   * cookie. Undefined if that session has ended.
   */
  async extended(token: string): Promise<string | undefined> {
    const { db, nowMs } = this.#deps;
    const session = { tokenHash: digest(token), ...this.#lifeFrom(nowMs(), token) };
    return (await extendSession(db, session)) ? token : undefined;
  }

  /** `openedFrom` is null for a login by the form, which opens no longer session. */
  #lifeFrom(nowMs: number, openedFrom: string | null) {
    const { workSessionMs } = this.#deps;
    const fullUntilMs = nowMs + SESSION_MS;
    if (workSessionMs === undefined || openedFrom === null)
      return { expiresMs: fullUntilMs, fullUntilMs: null };
    return { expiresMs: nowMs + workSessionMs, fullUntilMs };
  }

  /** Ends a session of credentials that are not accepted any more. */
  async end(token: string, userId: number): Promise<void> {
    await deleteSession(this.#deps.db, digest(token));
    await this.#deps.credentialsEnded(userId);
  }
}

/** Ends the session of the token, which is the actor's if it has not ended before. */
export function endSession(
  { db, nowMs }: Pick<Context, 'db' | 'nowMs'>,
  actor: Actor,
  token: string,
): Promise<void> {
  if (actor.kind === 'anonymous') return deleteSession(db, digest(token));
  const entry = entryOf(actor, { action: 'log-out', targetId: actor.user.id });
  return deleteSession(db, digest(token), [insertAuditOfChange(entry, nowMs())]);
}
