/** Personal access tokens: their form, their scopes and their limits. Pure. */
import { OperationError } from '../model/errors.ts';
import { count } from '../model/text.ts';
import { type Scope, scopes } from './action.ts';

const PREFIX = 'berth_pat_';
/** 256 random bits and 126 of their proof, in base64url. */
const [SECRET_LENGTH, PROOF_LENGTH] = [43, 21];
const FORM = /^berth_pat_[\w-]{64}$/;

const DEFAULT_DAYS = 90;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

export interface PersonalToken {
  id: number;
  userId: number;
  name: string;
  scopes: readonly Scope[];
  madeMs: number;
  /** Null: never. */
  expiresMs: number | null;
  /** The minute of the last use; null: none yet. */
  usedMs: number | null;
}

export interface StoredPersonalToken extends Omit<PersonalToken, 'id' | 'usedMs'> {
  hash: string;
  /** The version of the user's credentials when the token was requested. */
  credentialVersion: number;
}

export interface PersonalTokenInput {
  name: string;
  scopes: readonly Scope[];
  /** Null: for ever. */
  expiresDays?: number | null | undefined;
}

export interface PersonalTokenRules {
  maxPerUser: number;
  /** 0: no limit. */
  maxDays: number;
}

/** Whether the text could be a personal access token, and therefore can't be a password. */
export const looksLikePersonalToken = (text: string): boolean => FORM.test(text);

export const personalTokenOf = (secret: string, proof: string): string =>
  `${PREFIX}${secret}${proof.slice(0, PROOF_LENGTH)}`;

/** The secret of a token, whose proof makes the whole token. Undefined for any other text. */
export const secretIn = (token: string): string | undefined =>
  looksLikePersonalToken(token) ? token.slice(PREFIX.length, PREFIX.length + SECRET_LENGTH) : undefined;

/** Days that a token lasts if its creation states none. */
export const defaultDays = ({ maxDays }: Pick<PersonalTokenRules, 'maxDays'>): number =>
  maxDays === 0 ? DEFAULT_DAYS : Math.min(DEFAULT_DAYS, maxDays);

/** In the order of the list, each once. */
export const orderedScopes = (given: readonly Scope[]): Scope[] =>
  scopes.filter((scope) => given.includes(scope));

/** When a token that is made now expires; null: never. Throws `invalid` beyond the limit. */
export function expiryOf(
  { expiresDays }: Pick<PersonalTokenInput, 'expiresDays'>,
  rules: Pick<PersonalTokenRules, 'maxDays'>,
  nowMs: number,
): number | null {
  const { maxDays } = rules;
  const days = expiresDays === undefined ? defaultDays(rules) : expiresDays;
  if (maxDays > 0 && (days === null || days > maxDays))
    throw new OperationError(
      'invalid',
      `A personal access token lasts at most ${maxDays} days here (BERTH_LIMITS.personalTokenDays).`,
    );
  return days === null ? null : nowMs + days * DAY_MS;
}

/** What is recorded as the time of a use. */
export const minuteOf = (nowMs: number): number => Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;

export const tooManyPersonalTokens = ({ maxPerUser }: PersonalTokenRules) =>
  new OperationError(
    'conflict',
    `You have ${count(maxPerUser, 'personal access token')}, which is the limit: revoke one that you no longer need.`,
  );
export const noSuchPersonalToken = () =>
  new OperationError('not-found', 'There is no such personal access token.');
