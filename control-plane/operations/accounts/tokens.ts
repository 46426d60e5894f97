/**
 * Issues, verifies and revokes Bearer tokens (ACC-1). A token is a JWT signed with a key from the database.
 * It is valid only while its row exists, so revocation and changes of the user take effect at once and
 * survive restarts.
 */
import { randomBytes } from 'node:crypto';
import { JOSEError } from 'jose/errors';
import { SignJWT } from 'jose/jwt/sign';
import { jwtVerify } from 'jose/jwt/verify';
import {
  type Account,
  type Actor,
  type Authenticated,
  authorise,
  type TokenKind,
  tokenNotValid,
} from '../../core/accounts/account.ts';
import { type AuditEntry, entryOf } from '../../core/accounts/audit.ts';
import { OperationError } from '../../core/model/errors.ts';
import { insertAuditOfChange } from '../../store/accounts/audit.ts';
import { StoredKey } from '../../store/accounts/secrets.ts';
import { deleteToken, insertAccess, insertPair, type NewToken } from '../../store/accounts/tokens.ts';
import { findAccountByToken } from '../../store/accounts/users.ts';
import type { Db } from '../../store/db/db.ts';
import { attempted } from '../audit.ts';
import type { Context } from '../context.ts';
import { digest } from './digest.ts';

const ALGORITHM = 'HS256';
const ISSUER = 'berth';
/** The `typ` of the header distinguishes the kinds of tokens (RFC 9068 for access tokens). */
const TYPES: Record<TokenKind, string> = { access: 'at+jwt', refresh: 'rt+jwt' };

export interface TokenRules {
  accessMs: number;
  refreshMs: number;
  /** Live tokens of each kind per user. One more ends the oldest. */
  maxPerKind: number;
}

export interface TokenDeps {
  db: Db;
  /** Called after a session or token of the user has ended because another one was issued. */
  credentialsEnded(userId: number): Promise<void>;
  nowMs: () => number;
  deploymentName: string;
  shares: Context['shares'];
}

export interface Granted {
  accessToken: string;
  /** Only for the password grant. */
  refreshToken?: string;
  expiresInS: number;
}

export class Tokens {
  readonly #deps: TokenDeps;
  readonly #rules: TokenRules;
  readonly #key: StoredKey;

  constructor(deps: TokenDeps, rules: TokenRules) {
    this.#deps = deps;
    this.#rules = rules;
    this.#key = new StoredKey(deps.db, 'token-key');
  }

  /** The hash of the id of a token that Berth issued. Throws `bad-token` for others, and for another kind. */
  async read(token: string, kind: TokenKind): Promise<string> {
    const read = await this.#read(token);
    if (!read) throw tokenNotValid();
    if (read.kind === kind) return read.idHash;
    throw new OperationError(
      'bad-token',
      `This is a token of the kind ${read.kind}: send the ${kind} token.`,
    );
  }

  /** The account of the token. Throws `bad-token` if the token has ended. */
  async find(idHash: string, kind: TokenKind): Promise<Account> {
    const account = await findAccountByToken(this.#deps.db, idHash, kind, this.#deps.nowMs());
    if (!account) throw tokenNotValid();
    return account;
  }

  /**
   * Grants a pair of tokens for a password, and an access token for a refresh token. The password must come
   * as Basic credentials: a stolen cookie must not yield tokens.
   */
  grant(proof: Authenticated, grantType: () => Promise<TokenGrant>): Promise<Granted> {
    return attempted(this.#deps, proof.actor, { action: 'grant-token' }, () => this.#grant(proof, grantType));
  }

  async #grant(proof: Authenticated, grantType: () => Promise<TokenGrant>): Promise<Granted> {
    const account = authorise(proof.actor, { kind: 'use-tokens' });
    const { user } = account;
    const entry = entryOf(account, { action: 'grant-token' });
    if ((await grantType()) === 'password') {
      if (proof.by !== 'basic') throw wrongProof('password', 'a user name and password (HTTP Basic)');
      return this.#grantPair(user.id, user.credentialVersion, entry);
    }
    if (proof.by !== 'token') throw wrongProof('refresh_token', 'the refresh token (Bearer)');
    return this.#grantAccess(user.id, proof.tokenHash, entry);
  }

  /**
   * Ends one of the actor's own tokens. A refresh token takes its access tokens with it. Resolves to the id
   * of the user.
   */
  revoke(actor: Actor, token: string): Promise<number> {
    const deed = { action: 'revoke-token' } as const;
    return attempted(this.#deps, actor, deed, async () => {
      const account = authorise(actor, { kind: 'use-tokens' });
      const { user } = account;
      const read = await this.#read(token);
      const audit = this.#audit(entryOf(account, deed));
      if (!read || !(await deleteToken(this.#deps.db, user.id, read.idHash, audit)))
        throw new OperationError('not-found', 'There is no such token.');
      return user.id;
    });
  }

  #audit(entry: AuditEntry) {
    return insertAuditOfChange(entry, this.#deps.nowMs());
  }

  async #grantPair(userId: number, credentialVersion: number, entry: AuditEntry): Promise<Granted> {
    const [refresh, access] = await Promise.all([
      this.#make('refresh', userId),
      this.#make('access', userId),
    ]);
    const owner = { userId, credentialVersion };
    const pair = { refresh, access };
    if (await insertPair(this.#deps.db, owner, pair, this.#limits(), this.#audit(entry)))
      await this.#deps.credentialsEnded(userId);
    return { ...this.#granted(access), refreshToken: refresh.token };
  }

  async #grantAccess(userId: number, refreshHash: string, entry: AuditEntry): Promise<Granted> {
    const access = await this.#make('access', userId);
    const limits = this.#limits();
    const { isInserted, hasEndedOther } = await insertAccess(
      this.#deps.db,
      userId,
      refreshHash,
      access,
      limits,
      this.#audit(entry),
    );
    if (hasEndedOther) await this.#deps.credentialsEnded(userId);
    if (!isInserted) throw new OperationError('bad-token', 'The refresh token was revoked.');
    return this.#granted(access);
  }

  #granted({ token }: { token: string }): Granted {
    return { accessToken: token, expiresInS: this.#rules.accessMs / 1_000 };
  }

  #limits() {
    return { maxPerKind: this.#rules.maxPerKind, nowMs: this.#deps.nowMs() };
  }

  async #make(kind: TokenKind, userId: number): Promise<NewToken & { token: string }> {
    const id = randomBytes(16).toString('base64url');
    const nowMs = this.#deps.nowMs();
    const expiresMs = nowMs + (kind === 'access' ? this.#rules.accessMs : this.#rules.refreshMs);
    const token = await new SignJWT()
      .setProtectedHeader({ alg: ALGORITHM, typ: TYPES[kind] })
      .setIssuer(ISSUER)
      .setAudience(this.#deps.deploymentName)
      .setSubject(String(userId))
      .setJti(id)
      .setIssuedAt(Math.floor(nowMs / 1_000))
      .setExpirationTime(Math.ceil(expiresMs / 1_000))
      .sign(await this.#key.bytes());
    return { token, idHash: digest(id), expiresMs };
  }

  /** Returns the claims of the token; undefined if Berth did not issue it or it has expired. */
  async #read(token: string): Promise<{ kind: TokenKind; idHash: string } | undefined> {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, await this.#key.bytes(), {
        algorithms: [ALGORITHM],
        issuer: ISSUER,
        audience: this.#deps.deploymentName,
        requiredClaims: ['jti', 'exp'],
        currentDate: new Date(this.#deps.nowMs()),
      });
      const kind = (['access', 'refresh'] as const).find((one) => TYPES[one] === protectedHeader.typ);
      return kind && { kind, idHash: digest(String(payload.jti)) };
    } catch (error) {
      if (error instanceof JOSEError) return undefined;
      throw error;
    }
  }
}

export type TokenGrant = 'password' | 'refresh_token';

const wrongProof = (grant: TokenGrant, proof: string) =>
  new OperationError('unauthenticated', `The grant ${grant} requires ${proof}.`);
