/** Owns the check of what users were answered: what was acknowledged is committed then, and stays true. */

import type { World } from '../world/time.ts';
import { isEnded, type Ledger } from './ledger.ts';

interface Asked {
  user: number;
  /** What its row said when the end was acknowledged. */
  endingAtAck: string | null | undefined;
  generations: Map<number, number> | undefined;
  deletionAsked: boolean;
  deletionAcked: boolean;
}

export class AcknowledgementCheck {
  readonly #world: World;
  readonly #ledger: Ledger;
  /** Every execution whose submission was acknowledged. */
  readonly #known = new Map<number, Asked>();

  constructor(world: World, ledger: Ledger) {
    this.#world = world;
    this.#ledger = ledger;
  }

  get ids(): number[] {
    return [...this.#known.keys()];
  }

  submitted(id: number, user: number): void {
    this.#world.count('answer: submitted');
    const row = this.#ledger.executions.get(id);
    if (row?.user_id !== user)
      this.#world.violate(`the submission of ${id} is acknowledged and not committed`);
    if (this.#known.has(id)) this.#world.violate(`the id ${id} is given twice`);
    this.#known.set(id, {
      ...{ user, endingAtAck: undefined, generations: undefined },
      ...{ deletionAsked: false, deletionAcked: false },
    });
  }

  terminated(id: number): void {
    this.#world.count('answer: terminated');
    const asked = this.#known.get(id);
    if (!asked || asked.endingAtAck !== undefined) return;
    const row = this.#ledger.executions.get(id);
    if (row && row.status !== 'cleaning up' && !isEnded(row))
      this.#world.violate(`the end of ${id} is acknowledged, and it is ${row.status}`);
    const ending = row && !isEnded(row) ? JSON.parse(String(row.ending)).status : row?.status;
    asked.endingAtAck = ending === undefined ? null : String(ending);
    asked.generations = this.#generations(id);
  }

  deletionAsked(id: number): void {
    const asked = this.#known.get(id);
    if (asked) asked.deletionAsked = true;
  }

  deleted(id: number): void {
    this.#world.count('answer: deleted');
    const asked = this.#known.get(id);
    if (asked) asked.deletionAcked = true;
    const row = this.#ledger.executions.get(id);
    if (row && row.deleted !== 1)
      this.#world.violate(`the deletion of ${id} is acknowledged and not committed`);
    this.terminated(id);
  }

  /** After each commit, of the executions in it. */
  check(touched: Iterable<number>): void {
    for (const id of touched) {
      const asked = this.#known.get(id);
      const row = this.#ledger.executions.get(id);
      if (!asked) continue;
      if (!row && !asked.deletionAsked) this.#world.violate(`execution ${id} is lost`);
      if (!row || asked.endingAtAck === undefined) continue;
      if (row.status !== 'cleaning up' && !isEnded(row))
        this.#world.violate(`the end of ${id} was acknowledged, and it is ${row.status}`);
      if (isEnded(row) && asked.endingAtAck !== null && row.status !== asked.endingAtAck)
        this.#world.violate(
          `the end of ${id} was acknowledged as ${asked.endingAtAck}, and became ${row.status}`,
        );
      for (const [service, generation] of this.#generations(id))
        if (generation > (asked.generations?.get(service) ?? 0))
          this.#world.violate(`service ${service} was started after the end of ${id} was acknowledged`);
    }
  }

  /** Once all is quiet: each is there, or was deleted. */
  settled(): string[] {
    return [...this.#known].flatMap(([id, { deletionAsked, deletionAcked }]) => {
      const row = this.#ledger.executions.get(id);
      if (!row && !deletionAsked) return [`execution ${id} is lost`];
      return row && deletionAcked ? [`execution ${id} is deleted and still there as ${row.status}`] : [];
    });
  }

  #generations(id: number): Map<number, number> {
    return new Map(this.#ledger.servicesOf(id).map((one) => [Number(one.id), Number(one.generation)]));
  }
}
