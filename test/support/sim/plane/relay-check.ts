/** Relay check: between a gateway and the coordinator each message comes out once and in its order (P171). */
import type { Frame } from '../world/network.ts';
import type { World } from '../world/time.ts';

export class RelayCheck {
  readonly #world: World;
  readonly #name: () => string;
  /** Messages that have entered and not come out, with what the other checks are shown of them. */
  readonly #underWay: { text: string; shown: Frame }[] = [];

  /** `name` returns the name of the connection and the direction. */
  constructor(world: World, name: () => string) {
    this.#world = world;
    this.#name = name;
  }

  entered(text: string, shown: Frame = text): void {
    this.#underWay.push({ text, shown });
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
