/**
 * Idempotency keys: what requests have made under keys that their clients chose, so that repeats make nothing
 * (SPEC.md H440). Pure.
 */
import { OperationError } from './errors.ts';
import { count } from './text.ts';

/** The key of a request, chosen by its client. */
export interface RequestKey {
  key: string;
  /** Digest of the method, the path and the body. */
  digest: string;
}

export interface UserKey extends RequestKey {
  userId: number;
}

/** A key under which a request has made something. */
export interface UsedKey extends UserKey {
  /** A join token has no id: for one, this is when it expires, in milliseconds. */
  madeId: number;
  madeMs: number;
}

export interface Made {
  id: number;
  /** An earlier request with the same key has made it. */
  isRepeat: boolean;
}

/** How many keys of a user are kept, and when the first of them was used; null if there are none. */
export interface KeptKeys {
  count: number;
  oldestMs: number | null;
}

const KEPT_MS = 86_400_000;

/** Keys that were used at this time or earlier count as new. */
export const forgottenMs = (nowMs: number): number => nowMs - KEPT_MS;

/**
 * What the key was used for, if that was this request; undefined for a new key. Throws `other-request` if it
 * was another one.
 */
export function madeBefore(
  used: UsedKey | undefined,
  { digest }: RequestKey,
  nowMs: number,
): number | undefined {
  if (!used || used.madeMs <= forgottenMs(nowMs)) return undefined;
  if (used.digest === digest) return used.madeId;
  throw new OperationError(
    'other-request',
    'This Idempotency-Key was used for another request within the last 24 hours. A repeat must have the same ' +
      'path and the same body, byte for byte. A new request needs a new key.',
  );
}

/** Throws `too-many` if the user must not use another new key. */
export function assertMayUseKey(kept: KeptKeys, limit: number, nowMs: number): void {
  if (kept.count < limit) return;
  const retryAfterS = Math.max(1, Math.ceil(((kept.oldestMs ?? nowMs) - forgottenMs(nowMs)) / 1_000));
  throw new OperationError(
    'too-many',
    `You have used ${count(kept.count, 'Idempotency-Key')} within the last 24 hours, and a user may use ${limit}. Try ` +
      'again later, send the request without a key, or ask an administrator to raise ' +
      'BERTH_LIMITS.idempotencyKeysPerUser.',
    { retryAfterS },
  );
}
