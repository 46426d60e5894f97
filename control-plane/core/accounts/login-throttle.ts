/** Owns how failed logins slow down further ones: what they are counted by, and how long one has to wait. Pure. */

const FIRST_DELAY_MS = 30_000;
/** A minute where others suffer with whoever guesses. */
const SHARED_DELAY_MS = 60_000;
const OWN_DELAY_MS = 15 * 60_000;

/** Failures are forgotten this long after the last one; longer than any delay. */
export const FORGET_MS = 60 * 60_000;

/** Something that failed logins are counted by. */
export interface Bucket {
  key: string;
  /** Failures that cost no time yet. */
  free: number;
  mostDelayMs: number;
}

export interface Failures {
  count: number;
  lastMs: number;
}

/**
 * What a login counts for, the narrowest first: this name from this address, so that who guesses locks out nobody but
 * itself; the name from anywhere, against many who guess together; the address for any name. The last two are far
 * looser, as others use them, too. `address` is undefined where it is not known.
 */
export function bucketsOf(username: string, address: string | undefined): [Bucket, ...Bucket[]] {
  const from = address === undefined ? '' : networkOf(address);
  const shared = { free: 100, mostDelayMs: SHARED_DELAY_MS };
  return [
    { key: `both ${from} ${username}`, free: 10, mostDelayMs: OWN_DELAY_MS },
    { key: `name ${username}`, ...shared },
    ...(address === undefined ? [] : [{ key: `address ${from}`, ...shared }]),
  ];
}

/** How long after the last failure the next login has to wait: nothing, then 30 s, doubled by each further failure. */
export function delayMs({ free, mostDelayMs }: Bucket, count: number): number {
  return count < free ? 0 : Math.min(mostDelayMs, FIRST_DELAY_MS * 2 ** (count - free));
}

/** How long a login of these buckets still has to wait; 0 where it may be tried. */
export function waitMs(
  buckets: readonly Bucket[],
  failures: ReadonlyMap<string, Failures>,
  nowMs: number,
): number {
  const waits = buckets.map((bucket) => {
    const { count, lastMs } = failures.get(bucket.key) ?? { count: 0, lastMs: 0 };
    return lastMs + delayMs(bucket, count) - nowMs;
  });
  return Math.max(0, ...waits);
}

/** An IPv4 address itself; of IPv6 the first 64 bits, all of which one customer has. */
export function networkOf(address: string): string {
  const text = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (!text.includes(':')) return text;
  const [head = '', tail] = text.split('::', 2).map((part) => part.split(':').filter(Boolean));
  const zeros = tail ? Math.max(0, 8 - head.length - tail.length) : 0;
  const groups = [...head, ...Array<string>(zeros).fill('0'), ...(tail ?? [])];
  return groups
    .slice(0, 4)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':');
}
