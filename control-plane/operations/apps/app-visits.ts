/**
 * Visits of browsers at web applications: a ticket leads from Berth's own address to the application's, once,
 * and yields a pass for that place. Both are sealed; only spent tickets are kept.
 */
import * as z from 'zod';
import { type Actor, authorise, type KnownActor } from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import { spendSignOn } from '../../store/accounts/sign-ons.ts';
import { findAccountBySession } from '../../store/accounts/users.ts';
import { DatabaseError } from '../../store/db/db.ts';
import { digest } from '../accounts/digest.ts';
import { Envelope, type EnvelopeDeps } from '../sign-on/envelope.ts';

export const TICKET_MS = 60_000;
/** Passes of browsers that make many requests. Each takes a kilobyte. */
const REMEMBERED_PASSES = 2_000;

const ticket = z.object({
  id: z.string(),
  /** Host of the application, with what each of its paths begins with (`idOfPlace`). */
  place: z.string(),
  /** Digest of the secret that the browser got at its first visit there. */
  visit: z.string(),
  /** Digest of the token of the session at Berth. */
  sessionHash: z.string(),
  /** The path at the application to which it leads. */
  next: z.string(),
});
type Ticket = z.infer<typeof ticket>;

const pass = z.object({
  place: z.string(),
  sessionHash: z.string(),
  userId: z.int(),
  credentialVersion: z.int(),
});
export type Pass = z.infer<typeof pass>;

/** What a ticket has yielded. */
export interface Entered {
  /** For the browser to send with each request to this place. */
  pass: string;
  maxAgeS: number;
  next: string;
}

export class AppVisits {
  readonly #deps: EnvelopeDeps;
  readonly #tickets: Envelope<Ticket>;
  readonly #passes: Envelope<Pass>;

  constructor(deps: EnvelopeDeps) {
    this.#deps = deps;
    this.#tickets = new Envelope(deps, 'berth-app-ticket', ticket);
    this.#passes = new Envelope(deps, 'berth-app-pass', pass, REMEMBERED_PASSES);
  }

  /** A ticket for the browser with the secret of `visit`. The caller has authorised the use of the app. */
  async grant(actor: Actor, to: Pick<Ticket, 'place' | 'visit' | 'next'>): Promise<string> {
    const { credential } = authorise(actor, { kind: 'login' });
    if (credential.by !== 'session')
      throw new OperationError('forbidden', 'Only a session of a browser opens applications.');
    const content = { ...to, id: crypto.randomUUID(), sessionHash: credential.tokenHash };
    return this.#tickets.close(content, TICKET_MS);
  }

  /** Undefined if the ticket was used, has expired, or is for another place or another browser. */
  async enter(sealed: string, place: string, visitSecret: string): Promise<Entered | undefined> {
    const { db, nowMs } = this.#deps;
    const opened = await this.#tickets.open(sealed);
    if (opened?.place !== place || opened.visit !== digest(visitSecret)) return undefined;
    if (!(await this.#spend(opened.id))) return undefined;
    const account = await findAccountBySession(db, opened.sessionHash, nowMs());
    if (account?.expiresMs === undefined) return undefined;
    const { id: userId, credentialVersion } = account.user;
    const lifeMs = account.expiresMs - nowMs();
    const { sessionHash, next } = opened;
    return {
      pass: await this.#passes.close({ place, sessionHash, userId, credentialVersion }, lifeMs),
      maxAgeS: Math.floor(lifeMs / 1_000),
      next,
    };
  }

  /** The user whom a pass admits, by the session from which it stems; undefined if that has ended. */
  async admit(sealed: string, place: string): Promise<KnownActor | undefined> {
    const opened = await this.open(sealed, place);
    return opened && this.userOf(opened);
  }

  /** What a pass holds; undefined if it is not one for this place. Its session may have ended. */
  async open(sealed: string, place: string): Promise<Pass | undefined> {
    const opened = await this.#passes.open(sealed);
    return opened?.place === place ? opened : undefined;
  }

  /** Undefined if the session of the pass has ended. */
  async userOf({ sessionHash, userId, credentialVersion }: Pass): Promise<KnownActor | undefined> {
    const { db, nowMs } = this.#deps;
    const account = await findAccountBySession(db, sessionHash, nowMs());
    if (account?.user.id !== userId || account.user.credentialVersion !== credentialVersion) return undefined;
    const { user, role } = account;
    return { kind: 'user', credential: { by: 'session', tokenHash: sessionHash }, user, role };
  }

  async #spend(id: string): Promise<boolean> {
    const nowMs = this.#deps.nowMs();
    try {
      // A second longer than the ticket, whose end is in whole seconds.
      await this.#deps.db.batch(spendSignOn(digest(`ticket ${id}`), nowMs + TICKET_MS + 1_000, nowMs));
      return true;
    } catch (error) {
      if (error instanceof DatabaseError && error.kind === 'constraint') return false;
      throw error;
    }
  }
}
