/**
 * Sign-on by a provider of OpenID Connect (ACC-16): begins it, and completes it with a session. Berth keeps
 * nothing between the two requests.
 */
import * as z from 'zod';
import type { Origin, User } from '../../core/accounts/account.ts';
import { entryOf, failedLoginNetwork } from '../../core/accounts/audit.ts';
import { subnetOf } from '../../core/accounts/login-queue.ts';
import { OIDC_SOURCE, type SignOnSettings } from '../../core/accounts/sign-on.ts';
import { OperationError } from '../../core/model/errors.ts';
import { countFailedLogin, insertAuditOfChange } from '../../store/accounts/audit.ts';
import { noteSignOn } from '../../store/accounts/sign-ons.ts';
import { replacedCredentials } from '../access-review.ts';
import { Sessions } from '../accounts/sessions.ts';
import type { Context } from '../context.ts';
import { FairLine } from '../fair-line.ts';
import { accountFor, type UserOfSignOn } from './account-for.ts';
import { Envelope } from './envelope.ts';
import type { Pending, Provider } from './provider.ts';

/** How long a person may stay at the provider. */
export const PENDING_MS = 600_000;

/** Requests to the provider: at once, of one network, and waiting. */
const LIMITS = {
  ...{ total: 32, perOwner: 8, waiting: 256, waitingPerOwner: 32 },
  ...{ waitMs: 10_000, lostMs: 60_000 },
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

export interface SignOnDeps extends Omit<Context, 'turns'> {
  maxSessionsPerUser: number;
  /** Whether a user may have this name. */
  isUsername: (text: string) => boolean;
}

export class SignOn {
  readonly settings: SignOnSettings;
  readonly #deps: SignOnDeps;
  readonly #begun: Envelope<Begun>;
  readonly #sessions: Sessions;
  readonly #line: FairLine;
  #provider: Provider | undefined;

  constructor(deps: SignOnDeps, settings: SignOnSettings) {
    this.settings = settings;
    this.#deps = deps;
    this.#begun = new Envelope(deps, 'berth-sign-on', begunSignOn);
    this.#sessions = new Sessions({
      ...deps,
      credentialsEnded: (userId) => replacedCredentials(deps, userId),
    });
    this.#line = new FairLine({ whose: 'Your address has', what: 'sign-ons' }, LIMITS, deps.nowMs);
  }

  /** The page of the provider to go to, and what the browser must bring back for `complete`. */
  begin(
    next: string,
    redirectUri: string,
    address: string | undefined,
  ): Promise<{ url: string; begun: string }> {
    return this.#atProvider(address, async (provider) => {
      const { url, pending } = await provider.begin(redirectUri);
      return { url, begun: await this.#begun.close({ ...pending, next }, PENDING_MS) };
    });
  }

  /**
   * Completes a sign-on with the query of the callback, and opens a session. Throws `unauthenticated` if the
   * provider or its answer does not admit the user, and `forbidden` if Berth does not.
   */
  async complete(
    query: URLSearchParams,
    begun: string | undefined,
    origin: Origin,
  ): Promise<{ session: string; next: string }> {
    const { nowMs, db } = this.#deps;
    const opened = begun === undefined ? undefined : await this.#begun.open(begun);
    if (!opened) throw notBegun();
    const { next, ...pending } = opened;
    try {
      return { session: await this.#signOn(query, pending, origin), next };
    } catch (error) {
      const { code } = error instanceof OperationError ? error : {};
      if (code === 'unauthenticated' || code === 'forbidden')
        await db.batch([countFailedLogin(failedLoginNetwork(origin.address), nowMs(), 'oidc')]);
      throw error;
    }
  }

  async #signOn(query: URLSearchParams, pending: Pending, origin: Origin): Promise<string> {
    const statement = await this.#atProvider(origin.address, (provider) => provider.complete(query, pending));
    return this.#open(await accountFor(this.#deps, this.settings, statement, origin));
  }

  /** Where the logout of a user goes on at the provider; undefined if it ends here. */
  async endSessionUrl({ authSource }: User, returnTo: string, address: string | undefined) {
    if (authSource !== OIDC_SOURCE) return undefined;
    return this.#atProvider(address, (provider) => provider.endSessionUrl(returnTo));
  }

  #open(actor: UserOfSignOn): Promise<string> {
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
    return this.#line.run(network, 1, async () => work(await this.#loadProvider()));
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
