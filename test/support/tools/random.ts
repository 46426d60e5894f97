/** Random numbers for tests: the same seed gives the same numbers. */

/** Numbers in [0, 1), by mulberry32. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One of `all`, drawn by one number of `random`. Undefined if there is none. */
export const pickOne = <T>(random: () => number, all: readonly T[]): T | undefined =>
  all[Math.floor(random() * all.length)];

/** Random choices by a stream of numbers. */
export class Choices {
  readonly random: () => number;

  constructor(random: () => number) {
    this.random = random;
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  /** A whole number in [from, to]. */
  between(from: number, to: number): number {
    return from + Math.floor(this.random() * (to - from + 1));
  }

  pick<T>(all: readonly T[]): T {
    const one = pickOne(this.random, all);
    if (one === undefined) throw new Error('cannot pick from an empty list');
    return one;
  }
}
