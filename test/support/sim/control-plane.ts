/** Owns a simulated control plane: the real coordinator on the simulated database and network, until it is killed. */
import { Coordinator } from '../../../control-plane/coordinator/coordinator.ts';
import type { Session } from '../../../control-plane/coordinator/session.ts';
import { defaultScheduling } from '../../../control-plane/core/scheduling.ts';
import type { Link, Network, Server } from './network.ts';
import type { Store } from './store.ts';
import { Process, type World } from './time.ts';

export const DEPLOYMENT = 'sim';

/** Machines are registered before they are needed, in this order. */
export const MACHINES = ['one', 'two', 'three'];
export const hostIdOf = (machine: string): number => 1 + MACHINES.indexOf(machine);

export class ControlPlane implements Server {
  readonly name: string;
  readonly process: Process;
  readonly coordinator: Coordinator;
  readonly #world: World;
  readonly #network: Network;

  constructor(name: string, world: World, network: Network, store: Store) {
    this.name = name;
    this.process = new Process(name);
    this.#world = world;
    this.#network = network;
    this.coordinator = world.enter(this.process, () => this.#begin(store));
    network.servers.unshift(this);
  }

  accept(link: Link): Session {
    const socket = {
      send: (data: string | Uint8Array) => link.sendDown(data),
      close: (code: number, reason: string) => link.closeDown(code, reason),
    };
    return this.coordinator.connect(socket, hostIdOf(link.machine));
  }

  /** `silently`: as with its power, and nobody is told that its connections are gone. */
  kill(silently = false): void {
    if (!this.process.alive) return;
    this.#world.note(`${this.name} is killed`);
    this.process.alive = false;
    this.#network.servers = this.#network.servers.filter((one) => one !== this);
    this.#network.ended(this.process, silently);
  }

  #begin(store: Store): Coordinator {
    const world = this.#world;
    const { process } = this;
    let timer: { cancelled: boolean } | undefined;
    const coordinator = new Coordinator({
      db: store.connect(process),
      log: (event, fields = {}) => world.note(`${process.name} ${event} ${JSON.stringify(fields)}`),
      deploymentName: DEPLOYMENT,
      scheduling: defaultScheduling,
      clock: {
        nowMs: () => Math.floor(world.nowMs + process.skewMs),
        wakeAt: (timeMs) => {
          if (timer) timer.cancelled = true;
          if (timeMs === null) return;
          const delayMs = Math.max(1, timeMs - world.nowMs - process.skewMs);
          timer = world.after(delayMs, () => coordinator.wake(), process);
        },
        defer: (turn) => {
          world.count('turn');
          world.after(0, turn, process);
        },
        after: (delayMs, run) => void world.after(delayMs, run, process),
      },
    });
    coordinator.wake();
    return coordinator;
  }
}
