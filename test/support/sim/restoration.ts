/**
 * Owns that the database is replaced by an older copy of itself: how it is done, and what the documents (H253, C100 to C102)
 * say that is lost or left alone by it. Knows no check.
 */

import { given, prepareRestored } from '../../../control-plane/store/backup.ts';
import type { Row } from '../../../control-plane/store/db.ts';
import { isLive } from './ledger.ts';
import type { Machine } from './machine.ts';
import type { Simulation } from './simulation.ts';
import type { Change, Copy } from './store.ts';

interface Former {
  services: ReadonlyMap<number, Row>;
  executions: ReadonlyMap<number, Row>;
}

/** A container that runs on, of which the database knows nothing any more. */
interface Stranger {
  id: string;
  service: number;
  machine: Machine;
  hostId: number;
}

/** What control planes are told of containers that they do not know. */
export type UnknownContainers = 'keep' | 'remove';

export class Restoration {
  unknownContainers: UnknownContainers = 'keep';
  readonly #simulation: Simulation;
  #hasBegun = false;
  /** The last start of each service, also of those whose rows are gone. */
  readonly #last = new Map<number, number>();
  /** The same as it was before, and of those that the copy has the last that it knows. */
  readonly #before = new Map<number, { former: number; known: number | undefined }>();
  #strangers: Stranger[] = [];

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  /** Copies the database, and puts the copy in its place after a while. Once a run; false where it was. */
  begin(): boolean {
    if (this.#hasBegun) return false;
    this.#hasBegun = true;
    const simulation = this.#simulation;
    const { world, store } = simulation;
    // Each in an event of its own: nothing happens meanwhile.
    world.after(0, async () => {
      const copy = await store.copy();
      simulation.during(world.between(1_000, 60_000), () =>
        world.after(
          0,
          () => void this.#replace(copy).catch((error) => world.violate(`no copy: ${error.stack}`)),
        ),
      );
    });
    return true;
  }

  /** What was committed. */
  note({ table, id, row }: Change): void {
    if (table !== 'services' || !row) return;
    this.#last.set(id, Number(row.generation));
    const before = this.#before.get(id);
    // Its id was given again, by a copy that nobody had told of it.
    if (before) before.known ??= 0;
  }

  /** A start that was given before, and of which the copy does not know. */
  isForgotten(service: number, generation: number): boolean {
    const one = this.#before.get(service);
    return one !== undefined && generation <= one.former && generation > (one.known ?? 0);
  }

  /** Whether containers of this service are the administrator's to decide about. */
  isLeftAlone(service: number): boolean {
    const one = this.#before.get(service);
    const isUnknown = one !== undefined && one.known === undefined;
    return isUnknown && this.unknownContainers === 'keep' && !this.#simulation.ledger.services.has(service);
  }

  /** Somebody has removed a container, or nobody is sure of it any more. */
  release(id: string): void {
    this.#strangers = this.#strangers.filter((one) => one.id !== id);
  }

  /** In the end: containers that were to be left alone, and are gone. */
  missing(): string[] {
    const { ledger } = this.#simulation;
    return this.#strangers
      .filter(({ service, machine, hostId }) => {
        const hasLeft = ledger.isRemoved(hostId) || machine.hostId !== hostId;
        // Agents of the first version know of none that are left alone; of two on a machine one is told.
        const isExcused = hasLeft || machine.hadOldAgent || machine.doubledUntilMs > 0;
        return this.isLeftAlone(service) && !isExcused;
      })
      .flatMap(({ id, machine }) =>
        machine.engine.containers.has(id) ? [] : [`container ${id}, which was to be left alone, is gone`],
      );
  }

  async #replace(copy: Copy): Promise<void> {
    const simulation = this.#simulation;
    const { world, store, ledger, scheduling } = simulation;
    if (!this.#isOfTheseHosts(copy) || simulation.clockJumpsMs.length > 0) return;
    // Times of a clock that was wrong would make days of a delay of seconds. The administrator stops what runs on it, and starts it again.
    for (const one of [...simulation.controlPlanes]) simulation.halt(one);
    const former = { services: new Map(ledger.services), executions: new Map(ledger.executions) };
    // By `npm run restore`, or by hand: then leases would be counted from the copy's times.
    const byHand = scheduling.hostLoss === 'wait' && world.chance(0.5);
    const last = world.chance(0.5) ? await given(store.db) : undefined;
    this.unknownContainers = world.pick(['keep', 'remove']);
    const changes = await store.replaceBy(copy, (db) =>
      byHand ? Promise.resolve() : prepareRestored(db, last),
    );
    const how = byHand ? 'by hand' : 'by its command';
    world.note(`RESTORED ${how}; unknown containers: ${this.unknownContainers}`);
    world.count(`database: restored ${how}`);
    world.count(`unknown containers: ${this.unknownContainers}`);
    this.#restored(changes, former, byHand);
    world.after(world.between(10, 20_000), () => {
      if (simulation.controlPlanes.length === 0) simulation.startControlPlane();
    });
  }

  #restored(changes: readonly Change[], former: Former, byHand: boolean): void {
    const { ledger, machines, scheduling } = this.#simulation;
    ledger.restore(changes);
    for (const [id, last] of this.#last) {
      const known = ledger.services.get(id);
      this.#before.set(id, { former: last, known: known && Number(known.generation) });
    }
    const all = machines.flatMap((machine) =>
      [...machine.engine.containers.values()].map((container) => ({ container, machine })),
    );
    // With leases an agent may have given some up, and found no way to say so.
    const surely = scheduling.hostLoss === 'wait' ? all : [];
    this.#strangers = surely.flatMap(({ container: { id, key, state }, machine }) => {
      const row = key ? former.services.get(key.service) : undefined;
      const runs = state === 'running' && row?.generation === key?.generation && row?.status === 'active';
      return key && row && runs && isLive(row)
        ? [{ id, service: key.service, machine, hostId: machine.hostId }]
        : [];
    });
    this.#simulation.restored({ ...former, mayGiveAgain: byHand });
  }

  /** Hosts that came or went since would be strangers to it, as they would to any other database. */
  #isOfTheseHosts(copy: Copy): boolean {
    const { ledger, machines } = this.#simulation;
    const known = new Map(copy.get('hosts')?.map((row) => [Number(row.id), row]));
    return machines.every(
      ({ hostId }) => !ledger.isRemoved(hostId) && known.get(hostId)?.removed_ms === null,
    );
  }
}
