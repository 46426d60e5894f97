/** A placement whose lines a test sends. */
import type {
  OpenPlacement,
  Placed,
  PlacementLine,
} from '../../../control-plane/coordinator/streams/placement.ts';

/** At a host whose connection is in this process. */
export const PLACED: Placed = {
  generation: 1,
  at: { hostId: 1, host: 'one', gateway: null },
  removed: false,
  final: false,
};

export class ScriptedPlacement implements OpenPlacement {
  /** Its reader has left. */
  isLeft = false;
  readonly #lines: PlacementLine[];
  #isClosed = false;
  #changed = () => {};

  constructor(...lines: PlacementLine[]) {
    this.#lines = lines;
  }

  send(line: PlacementLine): void {
    this.#lines.push(line);
    this.#changed();
  }

  /** Its coordinator has ended. */
  close(): void {
    this.#isClosed = true;
    this.#changed();
  }

  async next(): Promise<PlacementLine | undefined> {
    while (this.#lines.length === 0 && !this.#isClosed && !this.isLeft)
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    return this.#lines.shift();
  }

  leave(): void {
    this.isLeft = true;
    this.#changed();
  }
}
