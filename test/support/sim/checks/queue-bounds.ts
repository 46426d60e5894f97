/** Queue bounds check: no commit admits more executions, or places more instances, than the bounds allow. */

import { type Bounds, reserveOf } from '../../../../control-plane/core/model/bounds.ts';
import type { Row } from '../../../../control-plane/store/db/db.ts';
import type { Change } from '../world/store.ts';
import type { World } from '../world/time.ts';
import type { Ledger } from './ledger.ts';

export class QueueBoundsCheck {
  readonly #world: World;
  readonly #ledger: Ledger;
  readonly #bounds: Bounds;
  /** Executions that have waited since their submission. Only these were admitted under the bounds. */
  readonly #waiting = new Map<number, Row>();

  constructor(world: World, ledger: Ledger, bounds: Bounds) {
    this.#world = world;
    this.#ledger = ledger;
    this.#bounds = bounds;
  }

  /** Checks a commit. The ledger must not contain its changes yet. */
  check(changes: readonly Change[]): void {
    for (const { table, id, row } of changes) {
      if (table !== 'executions') continue;
      const isNew = !this.#ledger.executions.has(id);
      if (row?.status === 'queued' && (isNew || this.#waiting.has(id))) this.#waiting.set(id, row);
      else this.#waiting.delete(id);
    }
    this.#waitingExecutions();
    this.#placedInstances(changes);
  }

  #waitingExecutions(): void {
    const { waiting, waitingPerUser } = this.#bounds;
    const limit = waiting + reserveOf(this.#bounds);
    if (this.#waiting.size > limit)
      this.#world.violate(`${this.#waiting.size} executions wait, and ${limit} may`);
    const counts = new Map<number, number>();
    for (const { user_id } of this.#waiting.values())
      counts.set(Number(user_id), (counts.get(Number(user_id)) ?? 0) + 1);
    for (const [user, count] of counts)
      if (count > waitingPerUser)
        this.#world.violate(`${count} executions of user ${user} wait, and ${waitingPerUser} may`);
  }

  #placedInstances(changes: readonly Change[]): void {
    const changed = new Map(
      changes.flatMap(({ table, id, row }) => (table === 'services' ? [[id, row]] : [])),
    );
    if (changed.size === 0) return;
    const rows = new Map([...this.#ledger.services, ...changed]);
    const placed = [...rows.values()].filter((row) => row?.placed === 1).length;
    if (placed > this.#bounds.placedInstances)
      this.#world.violate(`${placed} instances are placed, and ${this.#bounds.placedInstances} may be`);
  }
}
