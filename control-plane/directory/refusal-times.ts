/**
 * How long the directory has lately taken to refuse a password of a user. A name that nobody has is refused
 * after such a time too, since a directory may hash passwords of entries only (H557).
 */

const MAX_TIMES = 32;

export class RefusalTimes {
  #times: number[] = [];

  add(ms: number): void {
    this.#times = [...this.#times.slice(1 - MAX_TIMES), ms];
  }

  /** One of them in milliseconds, by chance; 0 if there is none yet. `chance`: at least 0, below 1. */
  sample(chance: number): number {
    return this.#times[Math.floor(chance * this.#times.length)] ?? 0;
  }
}
