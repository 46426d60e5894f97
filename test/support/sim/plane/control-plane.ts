/**
 * A simulated control plane: the real coordinator on the simulated database and network, until it is killed.
 */

import type { AgentSession } from '../../../../control-plane/coordinator/agents/agent-session.ts';
import { Coordinator } from '../../../../control-plane/coordinator/coordinator.ts';
import { idCode } from '../../../../control-plane/coordinator/runtime/id-code.ts';
import type { SchedulerConfig } from '../../../../control-plane/core/model/scheduler-config.ts';
import type { Link, Network, Server } from '../world/network.ts';
import type { Store } from '../world/store.ts';
import { Process, type World } from '../world/time.ts';

export const DEPLOYMENT = 'sim';

export interface ControlPlaneOptions {
  store: Store;
  scheduling: SchedulerConfig;
  /** True if the host's row is marked as removed. */
  isRemoved(hostId: number): boolean;
  /** Called whenever this control plane finds that another has taken over. */
  retired(controlPlane: ControlPlane): void;
}

export class ControlPlane implements Server {
  readonly name: string;
  /** A quiet control plane receives only log requests from users. Agents may be connected to it. */
  isQuiet = false;
  /** True once another control plane has taken over. Only a restart lets this one take over again. */
  isRetired = false;
  readonly process: Process;
  readonly coordinator: Coordinator;
  readonly #world: World;
  readonly #network: Network;
  readonly #isRemoved: (hostId: number) => boolean;

  constructor(name: string, world: World, network: Network, options: ControlPlaneOptions) {
    this.name = name;
    this.process = new Process(name);
    this.#world = world;
    this.#network = network;
    this.#isRemoved = options.isRemoved;
    this.coordinator = world.enter(this.process, () => this.#begin(options));
    network.servers.unshift(this);
  }

  accept(link: Link): AgentSession | undefined {
    if (this.#isRemoved(link.hostId)) return undefined;
    const socket = {
      send: (data: string | Uint8Array) => link.sendDown(data),
      close: (code: number, reason: string) => link.closeDown(code, reason),
    };
    return this.coordinator.connect(socket, link.hostId);
  }

  /** `silently` means without closing its connections, as after a power failure. */
  kill(silently = false): void {
    if (!this.process.alive) return;
    this.#world.note(`${this.name} is killed`);
    this.process.alive = false;
    this.#network.servers = this.#network.servers.filter((one) => one !== this);
    this.#network.ended(this.process, silently);
  }

  #begin({ store, scheduling, retired }: ControlPlaneOptions): Coordinator {
    const world = this.#world;
    const { process } = this;
    let timer: { cancelled: boolean } | undefined;
    const coordinator = new Coordinator({
      db: store.connect(process),
      log: (event, fields = {}) => {
        world.count(`log: ${event}`);
        world.note(`${process.name} ${event} ${JSON.stringify(fields)}`);
        if (event !== 'coordinator.lost' || fields.retired !== true) return;
        this.isRetired = true;
        retired(this);
      },
      idCode,
      deploymentName: DEPLOYMENT,
      scheduling,
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
