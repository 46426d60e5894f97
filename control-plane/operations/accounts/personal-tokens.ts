/**
 * Personal access tokens: makes and verifies them, and the use cases on them (ACC-15). A token has a proof
 * that only Berth can make, so that a guess costs no query; it is valid while its row exists.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  type Actor,
  authorise,
  type KnownActor,
  LDAP_SOURCE,
  type User,
} from '../../core/accounts/account.ts';
import { entryOf } from '../../core/accounts/audit.ts';
import {
  expiryOf,
  minuteOf,
  noSuchPersonalToken,
  orderedScopes,
  type PersonalToken,
  type PersonalTokenInput,
  type PersonalTokenRules,
  personalTokenOf,
  secretIn,
  tooManyPersonalTokens,
} from '../../core/accounts/personal-token.ts';
import { isAlike, OIDC_SOURCE } from '../../core/accounts/sign-on.ts';
import type { LoginCounts } from '../../core/metrics/login-counts.ts';
import { OperationError } from '../../core/model/errors.ts';
import { RecentMap } from '../../core/model/recent-map.ts';
import { insertAuditOfChange } from '../../store/accounts/audit.ts';
import {
  deletePersonalToken,
  findPersonalToken,
  listPersonalTokens as listRows,
  writePersonalTokenUse,
} from '../../store/accounts/personal-tokens.ts';
import { StoredKey } from '../../store/accounts/secrets.ts';
import { findAccountByPersonalToken, findSessionTimes } from '../../store/accounts/users.ts';
import { DatabaseError, type Db } from '../../store/db/db.ts';
import { reviewAccess } from '../access-review.ts';
import { attempted } from '../audit.ts';
import type { Context, ReadKey } from '../context.ts';
import { digest } from './digest.ts';
import type { Claim, ExpectedProofs } from './expected-proofs.ts';
import { type ConfirmPassword, requireCurrentPassword } from './users.ts';
import { type Input, keyOf } from './write-outcome.ts';

/** Tokens whose last use this process remembers. */
const MAX_REMEMBERED = 10_000;

export interface PersonalTokensDeps {
  db: Db;
  counts: LoginCounts;
  nowMs: () => number;
}

export class PersonalTokens {
  readonly #db: Db;
  readonly #nowMs: () => number;
  readonly #counts: LoginCounts;
  readonly #key: StoredKey;
  /** The minute of the last use, by hash. Bounds writes to one each minute. */
  readonly #usedMs = new RecentMap<string, number>(MAX_REMEMBERED);

  constructor({ db, nowMs, counts }: PersonalTokensDeps) {
    this.#db = db;
    this.#key = new StoredKey(db, 'personal-token-key');
    this.#counts = counts;
    this.#nowMs = nowMs;
  }

  /** A new token, with the hash under which it is stored. */
  async make(): Promise<{ token: string; hash: string }> {
    const secret = randomBytes(32).toString('base64url');
    const token = personalTokenOf(secret, await this.#proofOf(secret));
    return { token, hash: digest(token) };
  }

  /** With `username`, the token is sent in place of the password, and the name must be its user's. */
  async claim(token: string, expected: ExpectedProofs, username?: string): Promise<Claim> {
    const refused = new OperationError(
      username === undefined ? 'bad-token' : 'unauthenticated',
      'The personal access token is not valid: it has expired, was revoked, or is not yours.',
    );
    const hash = await this.#hashOf(token);
    if (hash === undefined) throw refused;
    return expected.claim(`personal ${hash} ${username ?? ''}`, async () => {
      const found = await findAccountByPersonalToken(this.#db, hash, this.#nowMs());
      if (!found || (username !== undefined && !isNameOf(found.user, username))) throw refused;
      const { user, role, id, scopes } = found;
      const credential = { by: 'personal-token', id, hash, scopes } as const;
      return { by: 'personal-token', actor: { kind: 'user', credential, user, role } };
    });
  }

  /** The hash of a token; undefined if Berth has never issued it. Costs no query after the first one. */
  async #hashOf(token: string): Promise<string | undefined> {
    const secret = secretIn(token);
    if (secret === undefined) return undefined;
    const right = Buffer.from(personalTokenOf(secret, await this.#proofOf(secret)));
    return timingSafeEqual(Buffer.from(token), right) ? digest(token) : undefined;
  }

  /** Records that a request came by the token. The request does not wait for it. */
  async noteUse(hash: string): Promise<void> {
    const usedMs = minuteOf(this.#nowMs());
    if (this.#usedMs.get(hash) === usedMs) return;
    this.#usedMs.set(hash, usedMs);
    this.#counts.count('token');
    try {
      await writePersonalTokenUse(this.#db, hash, usedMs);
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      // The next request by the token tries again.
      this.#usedMs.delete(hash);
    }
  }

  async #proofOf(secret: string): Promise<string> {
    return createHmac('sha256', await this.#key.text())
      .update(secret)
      .digest('base64url');
  }
}

/** As for a password, capitals make no difference for users of the directory. */
const isNameOf = (user: User, username: string): boolean =>
  user.authSource === LDAP_SOURCE ? isAlike(user.username, username) : user.username === username;

export interface NewPersonalToken {
  id: number;
  token: string;
  expiresMs: number | null;
}

/** What a creation requires besides the context. */
export interface PersonalTokenMaking {
  tokens: PersonalTokens;
  rules: PersonalTokenRules;
}

/**
 * Creates a token for the actor, who must show the password: a stolen cookie must not yield a token that
 * outlives it. The token cannot be read again later, so a repeat is `conflict`.
 */
export const createPersonalToken = (
  context: MakingContext,
  making: PersonalTokenMaking,
  actor: Actor,
  input: ReadNewToken,
  confirm: ConfirmPassword,
  readKey?: ReadKey,
): Promise<NewPersonalToken> =>
  attempted(context, actor, { action: 'create-personal-token' }, () =>
    writePersonalToken(context, making, actor, input, confirm, readKey),
  );

type MakingContext = Pick<Context, 'coordinator' | 'db' | 'nowMs' | 'shares'>;
type ReadNewToken = Input<PersonalTokenInput & { currentPassword?: string | undefined }>;

async function writePersonalToken(
  { coordinator, db, nowMs }: MakingContext,
  { tokens, rules }: PersonalTokenMaking,
  actor: Actor,
  input: ReadNewToken,
  confirm: ConfirmPassword,
  readKey: ReadKey | undefined,
): Promise<NewPersonalToken> {
  const account = authorise(actor, { kind: 'change-personal-tokens' });
  const { currentPassword, name, scopes, expiresDays } = await input();
  const key = keyOf(account, readKey);
  const madeMs = nowMs();
  if (account.user.authSource === OIDC_SOURCE) await requireRecentSignOn(db, account, madeMs);
  else await requireCurrentPassword(account, 'A new personal access token', currentPassword, confirm);
  const expiresMs = expiryOf({ expiresDays }, rules, madeMs);
  const { token, hash } = await tokens.make();
  const { id: userId, credentialVersion } = account.user;
  const stored = { userId, credentialVersion, name, hash, scopes: orderedScopes(scopes), madeMs, expiresMs };
  const { maxPerUser } = rules;
  const written = await coordinator.changeAccounts(
    { kind: 'create-personal-token', token: stored, maxPerUser },
    key,
    entryOf(account, { action: 'create-personal-token', targetName: name }),
  );
  if (!written.done) {
    if (written.why !== 'taken') throw tooManyPersonalTokens(rules);
    throw new OperationError('conflict', `You already have a personal access token with the name ${name}.`);
  }
  if (written.isRepeat)
    throw new OperationError(
      'conflict',
      `An earlier request with this Idempotency-Key has created the personal access token ${written.id}, which is ` +
        'shown only once. Revoke it, and create another one with a new key.',
    );
  return { id: written.id, token, expiresMs };
}

/** How long after a sign-on its session suffices in place of a password. */
const RECENT_MS = 600_000;

/** Users who sign on have no password. A session that is older, or of a program, must not yield a token. */
async function requireRecentSignOn(db: Db, { credential }: KnownActor, nowMs: number): Promise<void> {
  const session = credential.by === 'session' ? await findSessionTimes(db, credential.tokenHash) : undefined;
  if (session?.signedOnMs != null && nowMs - session.signedOnMs < RECENT_MS) return;
  throw new OperationError(
    'conflict',
    'A new personal access token requires that you signed on within the last 10 minutes, in the browser in which you create it. Log out, sign on again, and create the token then.',
  );
}

/** The tokens of a user, by default the actor's own. */
export async function listPersonalTokens(
  { db }: Pick<Context, 'db'>,
  actor: Actor,
  input: Input<{ userId?: number | undefined }>,
): Promise<PersonalToken[]> {
  const { user } = authorise(actor, { kind: 'login' });
  const { userId = user.id } = await input();
  authorise(actor, { kind: 'read-personal-tokens', userId });
  return listRows(db, userId);
}

/** Ends a token at once, with the streams that were opened by it. Administrators may revoke any. */
export const revokePersonalToken = (context: Context, actor: Actor, id: number): Promise<void> =>
  attempted(context, actor, { action: 'revoke-personal-token', targetId: id }, async () => {
    const { db, nowMs } = context;
    const account = authorise(actor, { kind: 'change-personal-tokens' });
    const token = await findPersonalToken(db, id);
    if (token === undefined || !mayRevoke(account, token.userId)) throw noSuchPersonalToken();
    const entry = entryOf(account, { action: 'revoke-personal-token', targetId: id, targetName: token.name });
    const isRevoked = await deletePersonalToken(db, id, insertAuditOfChange(entry, nowMs()));
    if (!isRevoked) throw noSuchPersonalToken();
    await reviewAccess(context, token.userId);
  });

const mayRevoke = ({ user, role }: KnownActor, owner: number): boolean =>
  owner === user.id || role.canChangeConfig;
