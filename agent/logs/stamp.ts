/** Time stamps of the `timestamps` format: `YYYY-MM-DD HH:MM:SS ` in UTC before each line. Pure. */

export const STAMP_BYTES = 20;

/** Caches the text of the last second, because most lines share it with the line before. */
export class Stamp {
  readonly #text = Buffer.alloc(STAMP_BYTES);
  #seconds = Number.NaN;

  /** Writes the stamp at `at`; returns the position after it. */
  write(seconds: number, output: Buffer, at: number): number {
    if (seconds !== this.#seconds) {
      this.#seconds = seconds;
      this.#text.write(`${new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ')} `, 'latin1');
    }
    return at + this.#text.copy(output, at);
  }
}
