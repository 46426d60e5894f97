/** Check of ids: no more of them are skipped than the bound on ids without a proof allows (C211). */
import type { Change } from '../world/store.ts';
import type { World } from '../world/time.ts';

export class GivenIdsCheck {
  readonly #world: World;
  readonly #bound: number;
  readonly #known = new Set<number>();
  #services = 0;
  #highestExecution = 0;
  #highestService = 0;

  constructor(world: World, bound: number) {
    this.#world = world;
    this.#bound = bound;
  }

  check(changes: readonly Change[]): void {
    for (const { table, id, row } of changes) {
      if (table !== 'executions' || !row || this.#known.has(id)) continue;
      this.#known.add(id);
      const count = Number(row.service_count);
      this.#services += count;
      this.#highestExecution = Math.max(this.#highestExecution, id);
      this.#highestService = Math.max(this.#highestService, Number(row.first_service_id) + count - 1);
    }
    const skipped = this.#highestExecution - this.#known.size + this.#highestService - this.#services;
    if (skipped > this.#bound)
      this.#world.violate(`${skipped} ids were skipped without a proof, and ${this.#bound} may be`);
  }
}
