/**
 * Relay check: between a gateway and the coordinator each message comes out once and in its order (P171), or
 * the connection ends (P172).
 */
import type { Frame } from '../world/network.ts';
import type { Process, World } from '../world/time.ts';

/** Longer than all attempts of two calls. */
const UNDER_WAY_MS = 90_000;

export class RelayCheck {
  readonly #world: World;
  readonly #name: () => string;
  readonly #isOpen: () => boolean;
  /** Messages that have entered and not come out, with what the other checks are shown of them. */
  readonly #underWay: { text: string; shown: Frame }[] = [];

  /**
   * `name` returns the name of the connection and the direction, and `isOpen` whether the gateway has the
   * connection.
   */
  constructor(world: World, name: () => string, isOpen: () => boolean) {
    this.#world = world;
    this.#name = name;
    this.#isOpen = isOpen;
  }

  /** `from`: a process that can send the message again as long as it lives. */
  entered(text: string, shown: Frame = text, from?: Process): void {
    const message = { text, shown };
    this.#underWay.push(message);
    this.#world.after(UNDER_WAY_MS, () => {
      if (from?.alive !== false && this.#isOpen() && this.#underWay.includes(message))
        this.#world.violate(`${this.#name()}: ${text.slice(0, 80)} does not come out`);
    });
  }

  /** Returns what the other checks are shown. */
  cameOut(text: string): Frame | undefined {
    const next = this.#underWay.shift();
    this.#world.count('gateway: relayed');
    if (next?.text === text) return next.shown;
    const expected = next ? next.text.slice(0, 80) : 'nothing';
    this.#world.violate(`${this.#name()}: ${text.slice(0, 80)} comes out, and not ${expected}`);
    return undefined;
  }
}
