/**
 * The sessions and tokens that the coordinator has seen: it authorises changes by them without asking the
 * database each time (ACC-10). Whatever ends a credential or changes the rights of its user is forgotten
 * before it is answered.
 */
import {
  type Caller,
  type ExpectedActor,
  type KnownActor,
  type LastingCredential,
  tokenNotValid,
} from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import { RecentMap } from '../../core/model/recent-map.ts';
import { findAccountByCredential } from '../../store/accounts/users.ts';
import type { Db } from '../../store/db/db.ts';
import type { Clock } from '../ports.ts';
import { NextTurnError } from '../turn-inputs.ts';

/** The coordinator asks the database again after this time. */
const SEEN_MS = 60_000;
const MAX_SEEN = 10_000;

/** A credential as the database had it; without an actor, it admits nobody. */
interface Seen {
  actor?: KnownActor;
  /** On the monotonic clock. */
  readMs: number;
  /** When it ends by itself. */
  expiresMs: number;
}

export class Credentials {
  readonly #db: Db;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** By kind and hash; the oldest first. */
  readonly #seen = new RecentMap<string, Seen>(MAX_SEEN);
  /** Reads under way. A burst of changes by one credential reads it once. */
  readonly #reading = new Map<string, Promise<void>>();

  constructor(db: Db, clock: Pick<Clock, 'monotonicMs'>) {
    this.#db = db;
    this.#clock = clock;
  }

  /** Reads the caller's credential from the database, unless it is known or was proved to the caller. */
  async read(caller: Caller, nowMs: number): Promise<void> {
    if (caller.kind === 'user' || this.#find(caller.credential, nowMs)) return;
    const key = keyOf(caller.credential);
    const reading =
      this.#reading.get(key) ?? this.#readNow(caller, nowMs).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    await reading;
  }

  async #readNow({ credential, user }: ExpectedActor, nowMs: number): Promise<void> {
    const account = await findAccountByCredential(this.#db, user.id, credential, nowMs);
    const readMs = this.#clock.monotonicMs();
    if (!account) this.#seen.set(keyOf(credential), { readMs, expiresMs: Number.POSITIVE_INFINITY });
    else {
      const actor: KnownActor = { kind: 'user', credential, user: account.user, role: account.role };
      this.#seen.set(keyOf(credential), { actor, readMs, expiresMs: account.expiresMs ?? nowMs });
    }
  }

  /**
   * The actor of a caller whose credential was read. Throws NextTurnError if it was forgotten after that, and
   * `unauthenticated` or `bad-token` if it has ended.
   */
  actorOf(caller: Caller, nowMs: number): KnownActor {
    if (caller.kind === 'user') return caller;
    const seen = this.#find(caller.credential, nowMs);
    if (!seen) throw new NextTurnError();
    if (seen.actor) return seen.actor;
    this.#seen.delete(keyOf(caller.credential));
    if (caller.credential.by !== 'session') throw tokenNotValid();
    throw new OperationError('unauthenticated', 'The session has ended: log in again.');
  }

  has(credential: LastingCredential): boolean {
    return this.#seen.has(keyOf(credential));
  }

  /** Forgets the credentials of a user; null: of all users. */
  forget(userId: number | null): void {
    for (const [key, { actor }] of this.#seen)
      if (userId === null || !actor || actor.user.id === userId) this.#seen.delete(key);
  }

  #find(credential: LastingCredential, nowMs: number): Seen | undefined {
    const key = keyOf(credential);
    const seen = this.#seen.get(key);
    if (!seen || (this.#clock.monotonicMs() - seen.readMs < SEEN_MS && nowMs < seen.expiresMs)) return seen;
    this.#seen.delete(key);
    return undefined;
  }
}

function keyOf(credential: LastingCredential): string {
  switch (credential.by) {
    case 'session':
      return `session ${credential.tokenHash} ${credential.workOnly ?? false}`;
    case 'token':
      return `token ${credential.idHash}`;
    case 'personal-token':
      return `personal token ${credential.hash}`;
  }
}
