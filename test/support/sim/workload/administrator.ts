/** Owns what an administrator does to hosts in a simulation: drains and removes them, makes hosts of machines that are none. */
import { insertJoinToken } from '../../../../control-plane/store/accounts/join-tokens.ts';
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

/** Whatever the clocks of the control planes say. */
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

  /** It takes services again; where the answer may be that of an earlier request, this is asked for again. */
  open({ name, hostId }: Machine): void {
    this.#change(name, hostId, { schedulable: true });
  }

  /** Does what the coordinator allows. `force`: its containers do not run. */
  remove({ name, hostId }: Machine, force: boolean): void {
    const { world, requests } = this.#options;
    void requests.send(
      `the removal of host ${name}${force ? ' by force' : ''}`,
      (c) => c.removeHost(hostId, force),
      ({ requeued }) => {
        world.count('answer: removed');
        if (requeued.length > 0) world.count('answer: removed, with executions requeued');
      },
    );
  }

  /** Its agent has given its key up: it gets a new one, and a token. Asks until there is an answer. */
  join(machine: Machine): void {
    if (this.#joining.has(machine)) return;
    this.#joining.add(machine);
    const { name } = machine;
    const mark = `${name}-${++this.#joins}`;
    const registration = { tokenHash: `token-${mark}`, name, publicKey: `key-${mark}` };
    const { store, requests } = this.#options;
    this.#until(
      () => !this.#joining.has(machine),
      () =>
        void requests.send(
          `machine ${name} wants to be a host`,
          async (c) => {
            const token = { hash: registration.tokenHash, name, labels: [], expiresMs: LONG_MS };
            // As POST host/token does it; the second time it is there.
            await insertJoinToken(store().db, token, 0).catch(() => {});
            return c.registerHost(registration);
          },
          (hostId) => {
            if (this.#joining.delete(machine)) machine.joined(hostId);
          },
        ),
    );
  }

  #change(name: string, hostId: number, changes: { schedulable: boolean; force?: boolean }): void {
    const { world, requests } = this.#options;
    void requests.send(
      `host ${name} becomes ${JSON.stringify(changes)}`,
      (c) => c.changeHost(hostId, changes),
      () => world.count(changes.force ? 'answer: drained by force' : 'answer: host changed'),
    );
  }

  #until(isDone: () => boolean, act: () => void): void {
    if (isDone()) return;
    act();
    const { world } = this.#options;
    world.after(world.between(500, 5_000), () => this.#until(isDone, act));
  }
}
