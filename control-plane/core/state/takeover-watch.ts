/**
 * Takeover watch: when a standby takes over, judged by a counter that the active control plane moves in the
 * database (C251 to C254). All times are of the standby's own monotonic clock, in milliseconds. Pure.
 */

/** The active control plane moves the counter at least this often, even if it has nothing to commit. */
export const BEAT_PERIOD_MS = 2_000;
/** Time between two looks at the counter. */
export const WATCH_PERIOD_MS = 1_000;
/** A counter that has not moved for this long shows that nobody moves it. */
export const SILENCE_MS = 8_000;
/** Without an answer of the database for this long, the active control plane may have had none either. */
const MAX_GAP_MS = 4_000;

/** What the database shows of the control plane that holds the epoch. */
export interface Sighting {
  /** 0: no control plane has used this database yet. */
  epoch: number;
  /** The counter. Each transaction of the coordinator moves it. */
  beats: number;
  /** Whether the holder moves the counter even if it has nothing to commit. */
  isBeating: boolean;
}

/** An unbroken series of equal sightings. */
export interface Watch {
  seen: Sighting;
  /** When the answer with the first of them arrived. */
  sinceMs: number;
  /** When the request for the last of them was sent. */
  sentMs: number;
  /** When the answer with the last of them arrived. */
  receivedMs: number;
}

/**
 * `wait`: the holder may be alive. `take-over`: it is not. `cannot-watch`: the holder moves no counter, so
 * only a person can decide.
 */
export type Verdict = 'wait' | 'take-over' | 'cannot-watch';

export const isSameSighting = (one: Sighting, other: Sighting): boolean =>
  one.epoch === other.epoch && one.beats === other.beats;

/** Continues the series, or begins another one if the counter has moved or the answer came late. */
export function watch(
  before: Watch | undefined,
  seen: Sighting,
  { sentMs, receivedMs }: Pick<Watch, 'sentMs' | 'receivedMs'>,
): Watch {
  const continues =
    before !== undefined && isSameSighting(before.seen, seen) && receivedMs - before.receivedMs <= MAX_GAP_MS;
  return { seen, sinceMs: continues ? before.sinceMs : receivedMs, sentMs, receivedMs };
}

/** The counter certainly stood still from the first answer until the last request. */
export function verdictOf({ seen, sinceMs, sentMs }: Watch): Verdict {
  if (seen.epoch === 0) return 'take-over';
  if (!seen.isBeating) return 'cannot-watch';
  return sentMs - sinceMs >= SILENCE_MS ? 'take-over' : 'wait';
}
