/** Check of leases on hosts: what an agent gives up, and that it then starts nothing (P32, P33, C107). */
import { keyOf } from '../../../../../shared/protocol/assignment.ts';
import type { SimContainer } from '../../machine/container.ts';
import type { Machine } from '../../machine/machine.ts';
import type { World } from '../../world/time.ts';
import { Check } from '../check.ts';
import { isLive, type Ledger } from '../ledger.ts';
import type { ReportedStarts } from '../reported-starts.ts';

/** Time for an agent to stop what it gave up; shorter than the margin of a lease. */
const MAX_STOP_MS = 20_000;
/** Time for an agent that works to learn that a container has ended, and to finish a call of the engine. */
const MAX_NOTICE_MS = 5_000;

export class LapseCheck extends Check {
  readonly #starts: ReportedStarts;

  constructor(world: World, ledger: Ledger, starts: ReportedStarts) {
    super(world, ledger);
    this.#starts = starts;
  }

  /** An agent that works gives up these services. */
  lapsed(machine: Machine, services: readonly number[]): void {
    for (const container of machine.engine.containers.values()) {
      const { key, state } = container;
      if (!key || !services.includes(key.service)) continue;
      if (state === 'exited') this.#ended(machine, container);
      else this.#live(machine, container);
    }
  }

  started(machine: Machine): void {
    const { lapsedMs, name, isImpaired } = machine;
    if (lapsedMs === null || isImpaired || this.world.nowMs - lapsedMs <= MAX_NOTICE_MS) return;
    this.violate(`${name} starts a container although its lease has expired`);
  }

  /** A container that ended earlier is not given up, unless its agent waits for it to stop. */
  #ended({ hostId }: Machine, { id, key, finishedAtMs }: SimContainer): void {
    const row = this.ledger.services.get(key?.service ?? 0);
    const isCurrent = row?.host_id === hostId && row.generation === key?.generation;
    if (isCurrent && isLive(row) && this.world.nowMs - finishedAtMs > MAX_NOTICE_MS)
      this.violate(`container ${id} is given up, but had ended before`);
  }

  #live(machine: Machine, { id, key, script }: SimContainer): void {
    if (!key) return;
    const { agent, engine, hostId } = machine;
    this.#starts.givenUp(hostId, key);
    this.world.after(MAX_STOP_MS, () => {
      const isHindered = machine.isImpaired || machine.agent !== agent || script.immortalUntilMs > 0;
      if (!isHindered && engine.containers.get(id)?.state === 'running')
        this.violate(`container ${id} of ${keyOf(key)} runs ${MAX_STOP_MS} ms after it was given up`);
    });
  }
}
