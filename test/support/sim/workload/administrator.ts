/** Administrator of a simulation: drains, opens and removes hosts, and registers machines as hosts again. */
import { joinTokenStatements } from '../../../../control-plane/store/accounts/join-tokens.ts';
import type { Ledger } from '../checks/ledger.ts';
import type { Machine } from '../machine/machine.ts';
import type { Requests } from '../plane/requests.ts';
import type { Store } from '../world/store.ts';
import type { World } from '../world/time.ts';

export interface AdministratorOptions {
  world: World;
  ledger: Ledger;
  requests: Requests;
  store(): Store;
}

/** Later than any clock of a control plane. */
const LONG_MS = 10 ** 14;

export class Administrator {
  readonly #options: AdministratorOptions;
  readonly #joining = new Set<Machine>();
  #joins = 0;

  constructor(options: AdministratorOptions) {
    this.#options = options;
  }

  drain({ name, hostId }: Machine, force: boolean): void {
    this.#change(name, hostId, { schedulable: false, force });
  }

  /** Makes the host schedulable. A drain that takes effect later must be followed by another call. */
  open({ name, hostId }: Machine): void {
    this.#change(name, hostId, { schedulable: true });
  }

  /** Removes the host if the coordinator allows it. `force` is for hosts without running containers. */
  remove({ name, hostId }: Machine, force: boolean): void {
    const { world, requests } = this.#options;
    void requests.send(
      `removal of host ${name}${force ? ' by force' : ''}`,
      (c) => c.removeHost(hostId, force),
      ({ requeued }) => {
        world.count('answer: removed');
        if (requeued.length > 0) world.count('answer: removed, with executions requeued');
      },
    );
  }

  /**
   * Registers a machine whose agent has removed its key: with a new key and a join token, until a request
   * succeeds.
   */
  join(machine: Machine): void {
    if (this.#joining.has(machine)) return;
    this.#joining.add(machine);
    const { name } = machine;
    const mark = `${name}-${++this.#joins}`;
    const registration = { tokenHash: `token-${mark}`, name, publicKey: `key-${mark}` };
    const token = { hash: registration.tokenHash, name, labels: [], expiresMs: LONG_MS };
    const { store, requests, world } = this.#options;
    const attempt = () => {
      if (!this.#joining.has(machine)) return;
      void requests.send(
        `registration of machine ${name}`,
        async (c) => {
          const { db } = store();
          // As POST host/token does; the second attempt finds the token.
          await db.batch(joinTokenStatements(token, 0)).catch(() => {});
          return c.registerHost(registration);
        },
        (hostId) => {
          if (this.#joining.delete(machine)) machine.joined(hostId);
        },
      );
      world.after(world.between(500, 5_000), attempt);
    };
    attempt();
  }

  #change(name: string, hostId: number, changes: { schedulable: boolean; force?: boolean }): void {
    const { world, requests } = this.#options;
    void requests.send(
      `change of host ${name} to ${JSON.stringify(changes)}`,
      (c) => c.changeHost(hostId, changes),
      () => world.count(changes.force ? 'answer: drained by force' : 'answer: host changed'),
    );
  }
}
