/** A simulated host: its engine, its disk, its network route, and an agent that a supervisor restarts. */

import { type Config, readConfig } from '../../../../agent/config.ts';
import { RefusedError } from '../../../../agent/connection/refused-error.ts';
import type { Target } from '../../../../agent/engine/streams/target.ts';
import { serveAgent } from '../../../../agent/serving.ts';
import type { StreamTarget } from '../../../../shared/streams/targets.ts';
import { noCredentials, noSecrets } from '../../fixtures/assignments.ts';
import { DEPLOYMENT } from '../plane/control-plane.ts';
import { Disk } from '../world/disk.ts';
import type { Dialler, Network } from '../world/network.ts';
import { Route } from '../world/pipe.ts';
import { Process, type World } from '../world/time.ts';
import type { SimContainer } from './container.ts';
import { SimEngine, type SimEngineOptions } from './engine.ts';
import { dialling, WebSocket } from './ws.ts';

export interface MachineOptions extends SimEngineOptions {
  network: Network;
  labels: readonly string[];
  /** The setting BERTH_URL; undefined for its default. */
  urls: string | undefined;
  /** Id with which the host is registered from the start. */
  hostId: number;
  /** Connects a stream to a port of a container. Undefined: the agents of this world open none. */
  connect: ((container: SimContainer | undefined, target: StreamTarget) => Promise<Target>) | undefined;
  /** Called when the agent logs that it lost output of a service, or that a start failed. */
  lost(service: number): void;
  /** Called when the lease of the agent, which acts alone on a machine that works, has expired. */
  lapsed(machine: Machine, services: readonly number[]): void;
  /** Called when an agent starts although another one runs. */
  duplicated(machine: Machine): void;
  /** Called when the agent has ended and removed its key because its host was removed. */
  revoked(machine: Machine): void;
}

interface Running {
  process: Process;
  /** Host of the key with which this agent began. A later key of the machine is that of the next agent. */
  hostId: number;
  stop: AbortController;
}

/** Longest time that the effects of an agent's calls may last once another agent of its machine has ended. */
const TWO_AGENTS_MS = 150_000;
/**
 * Longest time that calls begun during an impairment of the engine or disk may take, with a margin for their
 * effects.
 */
const IMPAIRMENT_MS = 180_000;

export class Machine {
  readonly name: string;
  readonly engine: SimEngine;
  readonly disk: Disk;
  readonly route = new Route();
  /** Whether the next agent to start speaks another protocol. */
  isForeign = false;
  powered = true;
  /** When the lease of its agent expired, until a control plane welcomes the agent. */
  lapsedMs: number | null = null;
  /** Id of the host that the agent's key belongs to. */
  hostId: number;
  readonly #options: MachineOptions;
  readonly #world: World;
  readonly #config: Config;
  #starts = 0;
  #bootMs: number;
  #hasNoLease = false;
  #impairedUntilMs = 0;
  #twoAgentsUntilMs = 0;
  #agents: Running[] = [];

  constructor(options: MachineOptions) {
    this.#options = options;
    this.#world = options.world;
    this.hostId = options.hostId;
    this.#bootMs = options.world.nowMs;
    this.name = options.machine;
    this.engine = new SimEngine(options);
    this.disk = options.output === 'linked' ? this.engine.disk : new Disk(`/${this.name}`);
    const env = {
      BERTH_DEPLOYMENT_NAME: DEPLOYMENT,
      BERTH_AGENT_NAME: this.name,
      BERTH_AGENT_LABELS: options.labels.join(','),
      BERTH_AGENT_DATA_DIR: `/${this.name}/agent`,
      ...(options.urls === undefined ? {} : { BERTH_URL: options.urls }),
    };
    const machine = {
      hostname: this.name,
      routedAddress: '192.0.2.1',
      addresses: ['192.0.2.1'],
      hasWholeLoopback: true,
      dockerHost: 'unix:///run/docker.sock',
    };
    // Services here have no secrets, and the folder for them would be on a real disk.
    this.#config = { ...readConfig(env, machine), secretsDir: null };
  }

  /** The running agent; the later one if there are two. */
  get agent(): Process | undefined {
    return this.#agents.at(-1)?.process;
  }

  /** Until this time two agents may act on this machine. 0: it never had two. */
  get twoAgentsUntilMs(): number {
    return this.#agents.length > 1 ? Number.POSITIVE_INFINITY : this.#twoAgentsUntilMs;
  }

  /** Registers the machine as a host again, with a new key. */
  joined(hostId: number): void {
    this.#world.note(`${this.name} is registered as host ${hostId}`);
    this.hostId = hostId;
    this.#restartLater();
  }

  /** Records that the engine or disk was impaired. */
  markImpaired(): void {
    this.#impairedUntilMs = this.#world.nowMs + IMPAIRMENT_MS;
  }

  /** True if the agent may have been unable to stop its containers when its lease expired. */
  get isImpaired(): boolean {
    const { nowMs } = this.#world;
    const { engine, disk } = this;
    const isImpaired = !engine.isHealthy || disk.full || this.#hasNoLease;
    return isImpaired || nowMs < Math.max(this.#impairedUntilMs, this.twoAgentsUntilMs);
  }

  /** An agent that starts from now on knows of no lease, until it is welcome. */
  loseLease(): void {
    this.#hasNoLease = true;
    this.disk.files.delete(`/${this.name}/agent/${DEPLOYMENT}/lease.json`);
  }

  startAgent(): void {
    if (!this.powered) return;
    const { network, connect } = this.#options;
    const world = this.#world;
    const process = new Process(`${this.name}/${++this.#starts}`);
    const stop = new AbortController();
    const { hostId } = this;
    const running = { process, hostId, stop };
    if (this.#agents.length > 0) this.#options.duplicated(this);
    this.#agents.push(running);
    const { isForeign } = this;
    dialling.set(process, (socket) => network.dial(socket, this.#dialler(process, isForeign, hostId)));
    world.note(`${process.name} starts`);
    const ended = world.enter(process, () =>
      serveAgent(this.#config, {
        engine: this.engine,
        identity: { headers: async () => ({}) },
        log: (event, fields = {}) => {
          world.note(`${process.name} ${event} ${JSON.stringify(fields)}`);
          if (event === 'session.welcome') {
            this.lapsedMs = null;
            this.#hasNoLease = false;
          }
          if (event === 'lease.expired') this.lapsedMs = world.nowMs;
          if (event === 'lease.expired' && !this.isImpaired)
            this.#options.lapsed(this, String(fields.services).split(' ').map(Number));
          // A start that failed although it took effect may have no log either.
          const isFailedStart = event === 'step.failed' && fields.step === 'start';
          if (event === 'output.lost' || isFailedStart) this.#options.lost(Number(fields.service));
        },
        probeDisk: async () => ({ freeBytes: this.disk.full ? 0 : 2 ** 40, freeInodesShare: 1 }),
        punchHole: async () => {},
        fetchSecrets: noSecrets,
        fetchCredentials: noCredentials,
        ...(connect && {
          connectContainer: async ({ id }, target) => connect(this.engine.containers.get(id), target),
        }),
        stopSignal: stop.signal,
        uptimeMs: () => world.nowMs - this.#bootMs,
      }),
    );
    ended.then(
      () => this.#ended(running, undefined),
      (error: unknown) => this.#ended(running, error),
    );
  }

  /** Opens a second connection as this host, which sends no message. */
  connectAgain(): void {
    const { network } = this.#options;
    const process = new Process(`${this.name}/second-connection`);
    const socket = this.#world.enter(process, () => {
      dialling.set(process, (dialled) => network.dial(dialled, this.#dialler(process, false, this.hostId)));
      return new WebSocket('ws://control-plane', {});
    });
    socket.on('error', () => {});
    this.#world.after(this.#world.between(1, 30_000), () => socket.terminate());
  }

  /** Ends the agents by SIGTERM. The supervisor starts another agent. */
  stopAgent(): void {
    for (const { process, stop } of this.#agents) this.#world.enter(process, () => stop.abort());
  }

  /** Ends an agent by SIGKILL. The supervisor starts another agent. */
  killAgent(process = this.agent, silently = false): void {
    const running = this.#agents.find((one) => one.process === process);
    if (!running) return;
    this.#world.note(`${running.process.name} is killed`);
    this.#gone(running, silently);
    this.#restartLater();
  }

  /** Kills all agents of this machine, as an update of the agent does. */
  killAgents(): void {
    for (const { process } of [...this.#agents]) this.killAgent(process);
  }

  /** Cuts the power. Other programs receive no close for their connections. */
  powerOff(): void {
    this.#world.note(`${this.name} loses its power`);
    this.powered = false;
    for (const running of [...this.#agents]) this.#gone(running, true);
    this.engine.stopServing(false);
  }

  /** Shuts the machine down in order: it closes its connections before the power is off. */
  shutDown(): void {
    for (const { process } of [...this.#agents]) this.#options.network.ended(process, false);
    this.powerOff();
  }

  powerOn(): void {
    if (this.powered) return;
    this.#world.note(`${this.name} has power again`);
    this.powered = true;
    this.#bootMs = this.#world.nowMs;
    this.engine.down = false;
    this.#restartLater();
  }

  #ended(running: Running, error: unknown): void {
    if (!this.#agents.includes(running)) return;
    this.#world.note(`${running.process.name} has ended: ${error ?? 'SIGTERM'}`);
    this.#world.count(error instanceof RefusedError ? 'agent: refused' : 'agent: ended');
    // An agent can't start on a full disk; the supervisor retries.
    if (error && !(error instanceof RefusedError) && !this.disk.full)
      this.#world.violate(`an agent failed: ${error}`);
    this.#gone(running, false);
    // An agent that ends after another agent of the removed host leaves the new key in its place.
    const isLatest = running.hostId === this.hostId;
    if (error instanceof RefusedError && error.revoked && isLatest) this.#options.revoked(this);
    else this.#restartLater();
  }

  #dialler(process: Process, isForeign: boolean, hostId: number): Dialler {
    return { machine: this.name, hostId, process, route: this.route, isForeign };
  }

  #gone(running: Running, silently: boolean): void {
    running.process.alive = false;
    if (this.#agents.length > 1) this.#twoAgentsUntilMs = this.#world.nowMs + TWO_AGENTS_MS;
    this.#agents = this.#agents.filter((one) => one !== running);
    this.#options.network.ended(running.process, silently);
  }

  #restartLater(): void {
    this.#world.after(this.#world.between(100, 5_000), () => {
      if (this.#agents.length === 0) this.startAgent();
    });
  }
}
