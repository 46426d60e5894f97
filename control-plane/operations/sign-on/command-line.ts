/**
 * Logins of the command line by the browser (H542): the browser's session yields a code, and the program that
 * requested it redeems the code for a session of its own. Nothing is kept in between.
 */
import * as z from 'zod';
import { type Actor, authorise, type Origin } from '../../core/accounts/account.ts';
import { entryOf } from '../../core/accounts/audit.ts';
import { OperationError } from '../../core/model/errors.ts';
import { insertAuditOfChange } from '../../store/accounts/audit.ts';
import { findAccountBySession } from '../../store/accounts/users.ts';
import { replacedCredentials } from '../access-review.ts';
import { digest } from '../accounts/digest.ts';
import { Sessions } from '../accounts/sessions.ts';
import type { Context } from '../context.ts';
import { Envelope } from './envelope.ts';

const CODE_MS = 60_000;

const granted = z.object({
  /** Digest of the verifier that only the program has. */
  challenge: z.string(),
  /** Digest of the token of the browser's session. */
  sessionHash: z.string(),
});

export interface CommandLineDeps extends Omit<Context, 'turns' | 'passwords'> {
  maxSessionsPerUser: number;
}

export class CommandLineLogins {
  readonly #deps: CommandLineDeps;
  readonly #codes: Envelope<z.infer<typeof granted>>;
  readonly #sessions: Sessions;

  constructor(deps: CommandLineDeps) {
    this.#deps = deps;
    this.#codes = new Envelope(deps, 'berth-command-line', granted);
    this.#sessions = new Sessions({
      ...deps,
      credentialsEnded: (userId) => replacedCredentials(deps, userId),
    });
  }

  /** A code for the program that has the verifier of the challenge. It is valid for a minute. */
  async grant(actor: Actor, challenge: string): Promise<string> {
    const { credential } = authorise(actor, { kind: 'login' });
    if (credential.by !== 'session')
      throw new OperationError('forbidden', 'Only a session of a browser logs in the command line.');
    return this.#codes.close({ challenge, sessionHash: credential.tokenHash }, CODE_MS);
  }

  /**
   * Opens a session of the same user, which ends when the browser's would. Throws `unauthenticated` if the
   * code is not the program's, or the browser's session has ended.
   */
  async redeem({ code, verifier }: { code: string; verifier: string }, origin: Origin): Promise<string> {
    const { db, nowMs } = this.#deps;
    const opened = await this.#codes.open(code);
    if (!opened || digest(verifier) !== opened.challenge) throw refused();
    const found = await findAccountBySession(db, opened.sessionHash, nowMs());
    if (found?.expiresMs === undefined) throw refused();
    const { user, role, expiresMs } = found;
    const credential = { by: 'session', tokenHash: opened.sessionHash } as const;
    authorise({ kind: 'user', user, role, credential }, { kind: 'login' });
    const entry = entryOf({ user, credential, origin }, { action: 'log-in', targetId: user.id });
    return this.#sessions.open(user, null, [insertAuditOfChange(entry, nowMs())], { expiresMs });
  }
}

const refused = () =>
  new OperationError(
    'unauthenticated',
    'This login has ended or is not yours. Log in again: berth login --browser',
  );
