/**
 * Login throttling: what failed logins are counted by, and how long they delay further logins (ACC-2). Pure.
 */
import { networkOf } from './network.ts';

const FIRST_DELAY_MS = 30_000;
/** At most a minute where the delay also affects other users. */
const SHARED_DELAY_MS = 60_000;
const OWN_DELAY_MS = 15 * 60_000;

/** Failures are forgotten this long after the last one. This is longer than any delay. */
export const FORGET_MS = 60 * 60_000;

/** A key that failed logins are counted by, with its limits. */
export interface Bucket {
  key: string;
  /** The number of failures without a delay. */
  free: number;
  maxDelayMs: number;
}

export interface Failures {
  count: number;
  lastMs: number;
}

/**
 * The buckets of a login, the narrowest first. The name from this address delays only the attacker's own
 * logins. The name from any address works against many attackers together, and the address works against
 * guesses of many names. The last two affect other users, so their limits are far looser. `address` is
 * undefined if it is unknown.
 */
export function bucketsOf(username: string, address: string | undefined): [Bucket, ...Bucket[]] {
  const from = address === undefined ? '' : networkOf(address);
  const shared = { free: 100, maxDelayMs: SHARED_DELAY_MS };
  return [
    { key: `both ${from} ${username}`, free: 10, maxDelayMs: OWN_DELAY_MS },
    { key: `name ${username}`, ...shared },
    ...(address === undefined ? [] : [{ key: `address ${from}`, ...shared }]),
  ];
}

/**
 * Time from the last failure until the next login is allowed: 0 for the free failures, then 30 s, doubled by
 * each further one.
 */
export function delayMs({ free, maxDelayMs }: Bucket, count: number): number {
  return count < free ? 0 : Math.min(maxDelayMs, FIRST_DELAY_MS * 2 ** (count - free));
}

/** Time until a login of these buckets is allowed; 0 if it is allowed now. */
export function waitMs(
  buckets: readonly Bucket[],
  failures: ReadonlyMap<string, Failures>,
  nowMs: number,
): number {
  const waits = buckets.map((bucket) => {
    const { count, lastMs } = failures.get(bucket.key) ?? { count: 0, lastMs: 0 };
    const wholeMs = delayMs(bucket, count);
    // A failure may have been recorded in the future, before the clock was set back.
    return Math.min(wholeMs, lastMs + wholeMs - nowMs);
  });
  return Math.max(0, ...waits);
}
