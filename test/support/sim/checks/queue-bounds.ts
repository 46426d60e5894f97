/** Queue bounds check: no commit admits more executions, or places more instances, than the bounds allow. */

import { type Bounds, reserveOf } from '../../../../control-plane/core/model/bounds.ts';
import type { Row } from '../../../../control-plane/store/db/db.ts';
import type { Change } from '../world/store.ts';
import type { World } from '../world/time.ts';
import { Check } from './check.ts';
import type { Ledger } from './ledger.ts';

/** How much waits. */
export interface Waiting {
  own: number;
  ownBytes: number;
  all: number;
}

/** Most bytes of a description in a simulation. */
const MAX_DESCRIPTION_BYTES = 2_000;

export class QueueBoundsCheck extends Check {
  readonly #bounds: Bounds;
  /** Executions that have waited since their submission. Only these were admitted under the bounds. */
  readonly #waiting = new Map<number, Row>();

  constructor(world: World, ledger: Ledger, bounds: Bounds) {
    super(world, ledger);
    this.#bounds = bounds;
  }

  /** Checks a commit. The ledger must not contain its changes yet. */
  check(changes: readonly Change[]): void {
    for (const { table, id, row } of changes) {
      if (table !== 'executions') continue;
      const isNew = !this.ledger.executions.has(id);
      if (row?.status === 'queued' && (isNew || this.#waiting.has(id))) this.#waiting.set(id, row);
      else this.#waiting.delete(id);
    }
    this.#waitingExecutions();
    this.#placedInstances(changes);
  }

  waitingOf(user: number): Waiting {
    const all = [...this.ledger.executions.values()].filter(({ status }) => status === 'queued');
    const own = all.filter(({ user_id }) => user_id === user);
    const ownBytes = own.reduce((sum, { description_bytes }) => sum + Number(description_bytes), 0);
    return { own: own.length, ownBytes, all: all.length };
  }

  /**
   * A submission was refused with this message. `before` is what waited when it was sent, and `others` is how
   * many more submissions were under way meanwhile. Together they may have reached the bound.
   */
  refused(user: number, message: string, before: Waiting, others: number): void {
    const after = this.waitingOf(user);
    const most = (what: keyof Waiting, each = 1) => before[what] + after[what] + (others + 1) * each;
    const { waiting, waitingPerUser, waitingBytesPerUser } = this.#bounds;
    const reached = [
      message.startsWith('The application has'),
      message.startsWith('You have') && most('own') >= waitingPerUser,
      message.startsWith('With this one') && most('ownBytes', MAX_DESCRIPTION_BYTES) > waitingBytesPerUser,
      message.includes('of all users') && most('all') >= waiting,
    ];
    if (!reached.includes(true))
      this.violate(`a submission of user ${user} is refused without need: ${message}`);
  }

  #waitingExecutions(): void {
    const { waiting, waitingPerUser } = this.#bounds;
    const limit = waiting + reserveOf(this.#bounds);
    if (this.#waiting.size > limit) this.violate(`${this.#waiting.size} executions wait, and ${limit} may`);
    const counts = new Map<number, number>();
    for (const { user_id } of this.#waiting.values())
      counts.set(Number(user_id), (counts.get(Number(user_id)) ?? 0) + 1);
    for (const [user, count] of counts)
      if (count > waitingPerUser)
        this.violate(`${count} executions of user ${user} wait, and ${waitingPerUser} may`);
  }

  #placedInstances(changes: readonly Change[]): void {
    const changed = new Map(
      changes.flatMap(({ table, id, row }) => (table === 'services' ? [[id, row]] : [])),
    );
    if (changed.size === 0) return;
    const rows = new Map([...this.ledger.services, ...changed]);
    const placed = [...rows.values()].filter((row) => row?.placed === 1).length;
    if (placed > this.#bounds.placedInstances)
      this.violate(`${placed} instances are placed, and ${this.#bounds.placedInstances} may be`);
  }
}
