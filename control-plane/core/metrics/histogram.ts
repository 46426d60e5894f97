/** Histogram of durations, which takes a value without allocating anything. Pure. */
import type { Family } from './family.ts';

/** From a millisecond to a minute, in seconds. */
const UP_TO_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export class DurationHistogram {
  /** Those of each bucket alone, and at last those beyond all. */
  readonly #values = new Float64Array(UP_TO_S.length + 1);
  #sumS = 0;

  add(durationMs: number): void {
    const durationS = durationMs / 1_000;
    let at = 0;
    while (durationS > (UP_TO_S[at] ?? Number.POSITIVE_INFINITY)) at++;
    this.#values[at] = (this.#values[at] ?? 0) + 1;
    this.#sumS += durationS;
  }

  family(name: string, help: string): Family {
    let count = 0;
    const buckets = UP_TO_S.map((upTo, at) => {
      count += this.#values[at] ?? 0;
      return [upTo, count] as const;
    });
    count += this.#values[UP_TO_S.length] ?? 0;
    return { name, help, type: 'histogram', buckets, sum: this.#sumS, count };
  }
}
