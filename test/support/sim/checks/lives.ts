/** Owns the check of how committed rows change: states and times only move as SPEC says, and nothing that was is lost. */
import type { Row } from '../../../../control-plane/store/db.ts';
import { isEnded, isLive, type Ledger } from '../ledger.ts';
import type { Change } from '../store.ts';
import type { World } from '../time.ts';

const RANKS: Record<string, number> = {
  submitted: 0,
  queued: 1,
  starting: 2,
  running: 3,
  'cleaning up': 4,
  terminated: 5,
  error: 5,
};

export class Lives {
  /** Services that have been placed on more than one host. */
  readonly moved = new Set<number>();
  readonly #world: World;
  readonly #ledger: Ledger;

  constructor(world: World, ledger: Ledger) {
    this.#world = world;
    this.#ledger = ledger;
  }

  /** Before `change` is in the ledger. */
  check({ table, id, row }: Change): void {
    if (table === 'executions') this.#execution(id, this.#ledger.executions.get(id), row);
    if (table === 'services') this.#service(id, this.#ledger.services.get(id), row);
  }

  #execution(id: number, before: Row | undefined, after: Row | undefined): void {
    if (!after) this.#purged(id, before);
    else if (!before)
      this.#demand(after.status === 'queued' || after.status === 'starting', id, `begins as ${after.status}`);
    else this.#changed(id, before, after);
    if (!after) return;
    this.#demand(
      isEnded(after) === (after.time_end_ms !== null),
      id,
      `is ${after.status} and has ended at ${after.time_end_ms}`,
    );
    this.#demand(
      (after.error_message !== null) === (after.status === 'error'),
      id,
      `is ${after.status} with the message ${after.error_message}`,
    );
    this.#demand(
      after.status !== 'running' || after.time_start_ms !== null,
      id,
      'runs without having started',
    );
    this.#demand(after.status !== 'queued' || after.time_start_ms === null, id, 'is queued and has started');
  }

  #changed(id: number, before: Row, after: Row): void {
    const from = String(before.status);
    const to = String(after.status);
    this.#world.count(`life: ${from} to ${to}`);
    const isRetry = from === 'starting' && to === 'queued';
    this.#demand(isRetry || Number(RANKS[to]) >= Number(RANKS[from]), id, `was ${from} and is ${to}`);
    for (const what of ['name', 'user_id', 'description', 'time_submit_ms'])
      this.#demand(before[what] === after[what], id, `has another ${what}`);
    for (const what of ['time_start_ms', 'time_end_ms'])
      this.#demand(before[what] === null || before[what] === after[what], id, `has another ${what}`);
    this.#demand(Number(after.deleted) >= Number(before.deleted), id, 'is not deleted any more');
    if (!isEnded(before)) return;
    for (const what of ['status', 'error_message', 'ending'])
      this.#demand(before[what] === after[what], id, `has ended, and another ${what} now`);
  }

  #purged(id: number, before: Row | undefined): void {
    this.#world.count('life: purged');
    this.#demand(
      before?.deleted === 1 && isEnded(before),
      id,
      `is ${before?.status} and purged, deleted is ${before?.deleted}`,
    );
    for (const service of this.#ledger.servicesOf(id)) {
      this.#demand(
        service.status === 'inactive',
        id,
        `is purged with service ${service.id} ${service.status}`,
      );
      this.#demand(
        service.generation === 0 || service.forgotten === 1,
        id,
        `is purged with the log of ${service.id}`,
      );
    }
  }

  #service(id: number, before: Row | undefined, after: Row | undefined): void {
    if (!before || !after) return;
    const grown = Number(after.generation) - Number(before.generation);
    const what = `service ${id} of`;
    const execution = Number(after.execution_id);
    this.#demand(
      grown === 0 || grown === 1,
      execution,
      `${what} went from start ${before.generation} to ${after.generation}`,
    );
    if (grown === 1) {
      this.#world.count(before.generation === 0 ? 'service: first start' : 'service: started again');
      this.#demand(!isLive(before), execution, `${what} is started again while it is ${before.status}`);
    }
    const moved = before.host_id !== null && before.host_id !== after.host_id;
    if (moved) {
      this.#world.count('service: on another host');
      this.moved.add(id);
    }
    this.#demand(!moved || !isLive(before), execution, `${what} moves while it is ${before.status}`);
    if (before.placed === 1 && after.placed === 0 && after.status === 'terminating')
      this.#world.count('service: gives its room');
  }

  #demand(holds: boolean, execution: number, otherwise: string): void {
    if (!holds) this.#world.violate(`execution ${execution} ${otherwise}`);
  }
}
