/** Changes of hosts: registration by an agent, and what administrators do. */
import { changeHost, type HostChanges } from '../../core/hosts/drain.ts';
import { type HostRemoval, removalBlocker, removeHost } from '../../core/hosts/host-removal.ts';
import { type Registration, type RegistrationRecords, register } from '../../core/hosts/registration.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { Host } from '../../core/model/host.ts';
import { hostIn } from '../../core/views/host-view.ts';
import { findRegistrationRecords } from '../../store/accounts/join-tokens.ts';
import type { Db } from '../../store/db/db.ts';
import type { Turns } from '../turns.ts';

export class HostRegister {
  readonly #db: Db;
  readonly #turns: Turns;
  readonly #removed: (hostId: number) => void;

  /** `removed` is called once the removal of a host is committed. */
  constructor(db: Db, turns: Turns, removed: (hostId: number) => void) {
    this.#db = db;
    this.#turns = turns;
    this.#removed = removed;
  }

  /** Resolves to the id of the host. */
  register(registration: Registration): Promise<number> {
    const { tokenHash, publicKey } = registration;
    return new Promise((resolve, reject) => {
      let records: RegistrationRecords;
      let host: Host;
      this.#turns.enqueue({
        read: async () => {
          records = await findRegistrationRecords(this.#db, tokenHash, publicKey);
        },
        run: (cluster, nowMs) => {
          host = register(cluster, registration, records, nowMs);
        },
        done: () => resolve(host.id),
        fail: reject,
      });
    });
  }

  change(hostId: number, changes: HostChanges): Promise<void> {
    return this.#turns.update((cluster) => {
      changeHost(cluster, hostIn(cluster, hostId), changes);
    });
  }

  /** Throws `conflict` if something prevents the removal. */
  async remove(hostId: number, force: boolean): Promise<HostRemoval> {
    const removal = await this.#turns.update((cluster, nowMs) => {
      const host = hostIn(cluster, hostId);
      const blocker = removalBlocker(cluster, host, force);
      if (blocker !== null) throw new OperationError('conflict', blocker);
      return removeHost(cluster, host, nowMs);
    });
    this.#removed(hostId);
    return removal;
  }
}
