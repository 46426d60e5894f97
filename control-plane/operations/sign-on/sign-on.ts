/**
 * Sign-on by a provider of OpenID Connect (ACC-16): begins it, and completes it with a session. Berth keeps
 * nothing between the two requests.
 */
import * as z from 'zod';
import type { FairQueue } from '../../../shared/fair-queue.ts';
import type { Origin, User } from '../../core/accounts/account.ts';
import { entryOf, failedLoginNetwork } from '../../core/accounts/audit.ts';
import { subnetOf } from '../../core/accounts/network.ts';
import { OIDC_SOURCE, type SignOnSettings } from '../../core/accounts/sign-on.ts';
import type { Limit } from '../../core/metrics/limits.ts';
import { OperationError } from '../../core/model/errors.ts';
import { fairLine } from '../../guard/fair-line.ts';
import { countFailedLogin, insertAuditOfChange } from '../../store/accounts/audit.ts';
import { noteSignOn, releaseSignOn, spendSignOn } from '../../store/accounts/sign-ons.ts';
import { DatabaseError } from '../../store/db/db.ts';
import { replacedCredentials } from '../access-review.ts';
import { digest } from '../accounts/digest.ts';
import { Sessions } from '../accounts/sessions.ts';
import type { Context } from '../context.ts';
import { accountFor, type UserOfSignOn } from './account-for.ts';
import { Envelope } from './envelope.ts';
import type { EndSession, Pending, Provider, Statement } from './provider.ts';

/** Longer addresses than this would make a cookie that no browser keeps (H641). */
const MAX_NEXT_LENGTH = 1_500;

/** How long a person may stay at the provider. */
export const PENDING_MS = 600_000;

/** Requests to the provider: at once, of one network, and waiting. */
const LIMITS = {
  total: 32,
  perOwner: 8,
  waiting: 256,
  waitingPerOwner: 32,
  waitMs: 10_000,
  lostMs: 60_000,
};

const begunSignOn = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  redirectUri: z.string(),
  /** The path to which the sign-on leads. */
  next: z.string(),
});
type Begun = z.infer<typeof begunSignOn>;

/** What a logout at the provider may need. Browsers keep cookies of 4 KiB at most. */
const logoutHint = z.object({ idToken: z.string() });
const MAX_HINT_LENGTH = 3_900;

/** A session that a sign-on has opened. */
export interface SignedOn {
  session: string;
  /** The path to which it leads. */
  next: string;
  /** For the browser to bring back at the logout, where the provider needs it. */
  hint: string | undefined;
}

export interface SignOnDeps extends Omit<Context, 'turns' | 'passwords'> {
  maxSessionsPerUser: number;
  /** Whether a user may have this name. */
  isUsername: (text: string) => boolean;
}

export class SignOn {
  readonly settings: SignOnSettings;
  readonly #deps: SignOnDeps;
  readonly #begun: Envelope<Begun>;
  readonly #hints: Envelope<z.infer<typeof logoutHint>>;
  readonly #sessions: Sessions;
  readonly #line: FairQueue;
  #provider: Provider | undefined;

  constructor(deps: SignOnDeps, settings: SignOnSettings) {
    this.settings = settings;
    this.#deps = deps;
    this.#begun = new Envelope(deps, 'berth-sign-on', begunSignOn);
    this.#hints = new Envelope(deps, 'berth-logout', logoutHint);
    this.#sessions = new Sessions({
      ...deps,
      credentialsEnded: (userId) => replacedCredentials(deps, userId),
    });
    this.#line = fairLine({ whose: 'Your address has', what: 'sign-ons' }, LIMITS, deps.nowMs);
  }

  /** The bounds on requests to the provider. */
  get limits(): Limit[] {
    return [
      { name: 'sign_ons', used: this.#line.used, limit: LIMITS.total },
      { name: 'waiting_sign_ons', used: this.#line.waiting, limit: LIMITS.waiting },
    ];
  }

  /** The page of the provider to go to, and what the browser must bring back for `complete`. */
  begin(
    next: string,
    redirectUri: string,
    address: string | undefined,
  ): Promise<{ url: string; state: string; begun: string }> {
    return this.#atProvider(address, async (provider) => {
      const { url, pending } = await provider.begin(redirectUri);
      const wanted = next.length <= MAX_NEXT_LENGTH ? next : '/';
      const begun = await this.#begun.close({ ...pending, next: wanted }, PENDING_MS);
      return { url, state: pending.state, begun };
    });
  }

  /**
   * The sign-on that the query of a callback belongs to. Throws `unauthenticated` if it was not begun with
   * that state.
   */
  async begunBy(query: URLSearchParams, begun: string | undefined): Promise<Begun> {
    const opened = begun === undefined ? undefined : await this.#begun.open(begun);
    const [state, ...more] = query.getAll('state');
    if (!opened || opened.state !== state || more.length > 0) throw notBegun();
    return opened;
  }

  /**
   * Completes a sign-on with the query of the callback, and opens a session. Throws `unauthenticated` if the
   * provider or its answer does not admit the user, and `forbidden` if Berth does not.
   */
  async complete(query: URLSearchParams, { next, ...pending }: Begun, origin: Origin): Promise<SignedOn> {
    const { nowMs, db } = this.#deps;
    await this.#spend(pending.state);
    try {
      return { ...(await this.#signOn(query, pending, origin)), next };
    } catch (error) {
      // Only sign-ons that lead to a session are kept, however many a stranger begins.
      await db.batch([releaseSignOn(digest(pending.state))]);
      const { code } = error instanceof OperationError ? error : {};
      if (code === 'unauthenticated' || code === 'forbidden')
        await db.batch([countFailedLogin(failedLoginNetwork(origin.address), nowMs(), 'oidc')]);
      throw error;
    }
  }

  async #signOn(query: URLSearchParams, pending: Pending, origin: Origin): Promise<Omit<SignedOn, 'next'>> {
    const statement = await this.#atProvider(origin.address, (provider) => provider.complete(query, pending));
    const actor = await accountFor(this.#deps, this.settings, statement, origin);
    return { session: await this.#open(actor), hint: await this.#hintOf(statement) };
  }

  async #hintOf({ idToken }: Statement): Promise<string | undefined> {
    const { logoutHint, sessionMs } = this.settings;
    const hint = logoutHint ? await this.#hints.close({ idToken }, sessionMs) : undefined;
    return hint !== undefined && hint.length <= MAX_HINT_LENGTH ? hint : undefined;
  }

  /** Where the logout of a user goes on at the provider; undefined if it ends here. */
  async endSession(
    { authSource }: User,
    returnTo: string,
    hint: string | undefined,
    address: string | undefined,
  ): Promise<EndSession | undefined> {
    if (authSource !== OIDC_SOURCE) return undefined;
    const end = await this.#atProvider(address, (provider) => provider.endSession(returnTo));
    const opened = hint === undefined ? undefined : await this.#hints.open(hint);
    return end && opened ? { ...end, fields: { ...end.fields, id_token_hint: opened.idToken } } : end;
  }

  /**
   * Lets one of equal callbacks go on to the provider, which may accept a code again (H641), or revoke what
   * the first one has got (H774).
   */
  async #spend(state: string): Promise<void> {
    const nowMs = this.#deps.nowMs();
    try {
      await this.#deps.db.batch(spendSignOn(digest(state), nowMs + PENDING_MS, nowMs));
    } catch (error) {
      if (error instanceof DatabaseError && error.kind === 'constraint') throw notBegun();
      throw error;
    }
  }

  async #open(actor: UserOfSignOn): Promise<string> {
    const nowMs = this.#deps.nowMs();
    const { user } = actor;
    const entry = entryOf(actor, { action: 'log-in', targetId: user.id });
    const statements = [
      insertAuditOfChange(entry, nowMs),
      noteSignOn(user.id, nowMs + this.settings.tokensMs),
    ];
    const times = { expiresMs: nowMs + this.settings.sessionMs, signedOnMs: nowMs };
    return this.#sessions.open(user, null, statements, times);
  }

  /** Others must not wait because one network sends many, or because the provider is slow. */
  #atProvider<T>(address: string | undefined, work: (provider: Provider) => Promise<T>): Promise<T> {
    const network = address === undefined ? '' : subnetOf(address);
    return this.#line.run(async () => work(await this.#loadProvider()), network);
  }

  /** Loaded at the first sign-on: a control plane without one pays nothing for the library. */
  async #loadProvider(): Promise<Provider> {
    const { Provider } = await import('./provider.ts');
    this.#provider ??= new Provider(this.settings, this.#deps.nowMs);
    return this.#provider;
  }
}

const notBegun = () =>
  new OperationError(
    'unauthenticated',
    'This sign-on was not begun in this browser, has been completed already, or is older than 10 minutes. Begin it again.',
  );
