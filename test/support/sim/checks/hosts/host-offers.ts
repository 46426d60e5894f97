/**
 * Check of hosts: none has labels or a size beyond what was agreed, and no hello changes the agreement (C208,
 * C209). The simulated administrator accepts no offer.
 */
import type { HostOffer } from '../../../../../control-plane/core/model/host.ts';
import type { Row } from '../../../../../control-plane/store/db/db.ts';
import type { Change } from '../../world/store.ts';
import type { World } from '../../world/time.ts';

export class HostOffersCheck {
  readonly #world: World;
  /** By host id, as JSON. */
  readonly #agreed = new Map<number, string>();

  constructor(world: World) {
    this.#world = world;
  }

  check(changes: readonly Change[]): void {
    for (const { table, id, row } of changes)
      if (table === 'hosts' && row && row.agreed !== null) this.#checkHost(id, row, String(row.agreed));
  }

  #checkHost(id: number, row: Row, text: string): void {
    const before = this.#agreed.get(id) ?? text;
    this.#agreed.set(id, before);
    if (text !== before) this.#world.violate(`what host ${id} may offer was ${before}, and is now ${text}`);
    const agreed = JSON.parse(text) as HostOffer;
    const labels = (JSON.parse(String(row.labels)) as string[]).filter((one) => !agreed.labels.includes(one));
    if (labels.length > 0) this.#world.violate(`host ${id} has the labels ${labels}, which were not agreed`);
    if (Number(row.memory_bytes) > agreed.memoryBytes || Number(row.cores) > agreed.cores)
      this.#world.violate(`host ${id} is larger than was agreed`);
  }
}
