/** What checks of a simulation have in common: the world to which they report, and the committed rows. */
import type { World } from '../world/time.ts';
import type { Ledger } from './ledger.ts';

export abstract class Check {
  protected readonly world: World;
  protected readonly ledger: Ledger;

  constructor(world: World, ledger: Ledger) {
    this.world = world;
    this.ledger = ledger;
  }

  protected violate(what: string): void {
    this.world.violate(what);
  }
}
