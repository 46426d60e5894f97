/**
 * Sorted table: finds things by an order, with little memory and without a key for each. Unlike with hashes,
 * no user can choose things that make it slow. Pure.
 */
import { lowerBound } from '../scheduling/queue-policy.ts';

const MAX_CHUNK = 256;

export class SortedTable<T> {
  readonly #compare: (a: T, b: T) => number;
  /** In order; none is empty. */
  readonly #chunks: T[][] = [];

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  /** The one in the table that is equal to `wanted`. */
  find(wanted: T): T | undefined {
    const [number, at] = this.#locate(wanted);
    const found = this.#chunks[number]?.[at];
    return found !== undefined && this.#compare(found, wanted) === 0 ? found : undefined;
  }

  /** The table must have no equal one. */
  add(one: T): void {
    let [number, at] = this.#locate(one);
    if (number > 0 && number === this.#chunks.length) at = this.#chunks[--number]?.length ?? 0;
    const chunk = this.#chunks[number];
    if (!chunk) this.#chunks.push([one]);
    else if (chunk.length < MAX_CHUNK) chunk.splice(at, 0, one);
    else {
      const all = chunk.toSpliced(at, 0, one);
      // Many arrive in ascending order: then the chunk stays full.
      const half = at === MAX_CHUNK ? at : MAX_CHUNK / 2;
      this.#chunks.splice(number, 1, all.slice(0, half), all.slice(half));
    }
  }

  remove(one: T): void {
    const [number, at] = this.#locate(one);
    const chunk = this.#chunks[number];
    if (chunk?.[at] !== one) return;
    chunk.splice(at, 1);
    if (chunk.length === 0) this.#chunks.splice(number, 1);
  }

  /** The chunk, and the position in it, of the first one that is not less than `wanted`. */
  #locate(wanted: T): [number, number] {
    const number = lowerBound(this.#chunks, wanted, (chunk, one) => this.#compare(chunk.at(-1) as T, one));
    return [number, lowerBound(this.#chunks[number] ?? [], wanted, this.#compare)];
  }
}
