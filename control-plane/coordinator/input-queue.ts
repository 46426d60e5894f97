/**
 * Input queue: the inputs that wait for a turn. A turn takes the earliest ones, and of one user no more than
 * an equal share, so that the requests of one user do not delay those of others.
 */
import type { Input } from './turn-inputs.ts';

/** Inputs per commit. A burst is split into several transactions. */
const MAX_INPUTS = 500;
/** Inputs of one user per commit: what all others wait for. */
const MAX_OF_USER = 100;

/** An input with its place in the order of arrival. */
interface Waiting {
  input: Input;
  place: number;
}

export class InputQueue {
  /** What agents and Berth itself do: their number is bounded elsewhere. */
  #own: Waiting[] = [];
  /** By user, the next one to be served first. */
  readonly #ofUsers = new Map<number, Waiting[]>();
  #lastPlace = 0;
  #firstPlace = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(input: Input): void {
    this.#lastPlace += 1;
    this.#lineOf(input).push({ input, place: this.#lastPlace });
    this.#size += 1;
  }

  /** Adds inputs that a turn has taken, and that must run in the next one, before all others. */
  addAgain(inputs: readonly Input[]): void {
    for (const input of inputs.toReversed()) {
      this.#firstPlace -= 1;
      this.#lineOf(input).unshift({ input, place: this.#firstPlace });
      this.#size += 1;
    }
  }

  /** The inputs of the next turn, in the order of their arrival. */
  take(): Input[] {
    const taken = this.#own.splice(0, MAX_INPUTS);
    const room = MAX_INPUTS - taken.length;
    const share = Math.max(1, Math.min(MAX_OF_USER, Math.floor(room / this.#ofUsers.size)));
    for (const [userId, line] of [...this.#ofUsers].slice(0, room)) {
      taken.push(...line.splice(0, share));
      this.#ofUsers.delete(userId);
      if (line.length > 0) this.#ofUsers.set(userId, line);
    }
    this.#size -= taken.length;
    return taken.sort((a, b) => a.place - b.place).map(({ input }) => input);
  }

  /** Removes the inputs that are `wanted`, and returns them in the order of their arrival. */
  remove(wanted: (input: Input) => boolean): Input[] {
    const removed: Waiting[] = [];
    const rest = (line: readonly Waiting[]) =>
      line.filter((one) => {
        if (wanted(one.input)) removed.push(one);
        return !wanted(one.input);
      });
    this.#own = rest(this.#own);
    for (const [userId, line] of this.#ofUsers) {
      const left = rest(line);
      if (left.length > 0) this.#ofUsers.set(userId, left);
      else this.#ofUsers.delete(userId);
    }
    this.#size -= removed.length;
    return removed.sort((a, b) => a.place - b.place).map(({ input }) => input);
  }

  #lineOf({ userId }: Input): Waiting[] {
    if (userId === undefined) return this.#own;
    const line = this.#ofUsers.get(userId) ?? [];
    this.#ofUsers.set(userId, line);
    return line;
  }
}
