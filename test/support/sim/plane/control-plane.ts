/**
 * A simulated control plane: the real coordinator on the simulated database and network, perhaps behind a
 * standby, until it is killed.
 */

import type { Agents } from '../../../../control-plane/coordinator/agents/agents.ts';
import type {
  AgentConnection,
  SessionMessage,
} from '../../../../control-plane/coordinator/connections/agent-connection.ts';
import { WINDOW_BYTES_OF_OBJECT } from '../../../../control-plane/coordinator/connections/open-channels.ts';
import type { PassedBytes } from '../../../../control-plane/coordinator/connections/traffic.ts';
import type { CoordinatorDeps } from '../../../../control-plane/coordinator/coordinator.ts';
import { Coordinator } from '../../../../control-plane/coordinator/coordinator.ts';
import type { CoordinatorApi, OpenLog } from '../../../../control-plane/coordinator/coordinator-api.ts';
import type { Portion, Rejected } from '../../../../control-plane/coordinator/gateways/portion.ts';
import { gatewayLogs } from '../../../../control-plane/coordinator/runtime/gateway-channels.ts';
import { idCode } from '../../../../control-plane/coordinator/runtime/id-code.ts';
import { ObjectAlarm } from '../../../../control-plane/coordinator/runtime/object-alarm.ts';
import { Standby } from '../../../../control-plane/coordinator/standby.ts';
import type { PlacementSource } from '../../../../control-plane/coordinator/streams/placements.ts';
import {
  ownChannels,
  ownLogs,
  serviceLogs,
} from '../../../../control-plane/coordinator/streams/service-logs.ts';
import type { StreamSessionDeps } from '../../../../control-plane/coordinator/streams/stream-session.ts';
import { DAY_MS } from '../../../../control-plane/core/lifecycle/retention.ts';
import type { SchedulerConfig } from '../../../../control-plane/core/model/scheduler-config.ts';
import type { StreamRules } from '../../../../control-plane/core/model/stream-rules.ts';
import { WindowMemory } from '../../../../shared/streams/window.ts';
import { checkRefusal } from '../checks/streams.ts';
import {
  type Accepted,
  type Link,
  type Network,
  REMOVED,
  type Refusal,
  type Server,
} from '../world/network.ts';
import type { Store } from '../world/store.ts';
import { Process, type World } from '../world/time.ts';
import type { Gateways } from './gateways.ts';
import { clockOf, PlaneGatewayLinks } from './plane-gateway-links.ts';

export const DEPLOYMENT = 'sim';

/** Where a control plane with BERTH_STANDBY=on listens, and how wrong its clock is. */
export interface StandbyPlace {
  port: number;
  skewMs: number;
}

export interface ControlPlaneOptions {
  store: Store;
  scheduling: SchedulerConfig;
  /** Set for a control plane that waits while another one is active. */
  standby: StandbyPlace | undefined;
  /** Time for which ended executions are kept; null: for ever. */
  keepMs: number | null;
  /** True if the host's row is marked as removed. */
  isRemoved(hostId: number): boolean;
  /** Called whenever this control plane finds that another has taken over, unless it waits then. */
  retired(controlPlane: ControlPlane): void;
  /** Called when a standby begins to take over. */
  takesOver(): void;
  /** Called when it has read its state. */
  ready(controlPlane: ControlPlane, epoch: number): void;
  killed(controlPlane: ControlPlane): void;
  /**
   * The gateways that hold the connections of agents, if the world has any. Its coordinator is then an object
   * with an alarm, and has no standby.
   */
  gateways: Gateways | undefined;
  /** True if an event has begun it that follows now, such as a call. Nothing else wakes it. */
  isReached: boolean;
}

export class ControlPlane implements Server {
  readonly name: string;
  readonly port: number | undefined;
  /** A quiet control plane receives only log requests from users. Agents may be connected to it. */
  isQuiet = false;
  /** True once another control plane has taken over. Only a restart lets this one take over again. */
  isRetired = false;
  process: Process;
  coordinator: CoordinatorApi & PlacementSource;
  readonly #agents: Pick<Agents, 'connect' | 'session'>;
  readonly #standby: Standby | undefined;
  readonly #world: World;
  readonly #network: Network;
  readonly #options: ControlPlaneOptions;
  /** For the windows of the Worker. */
  readonly #memory = new WindowMemory(WINDOW_BYTES_OF_OBJECT);
  #gatewayLinks: PlaneGatewayLinks | undefined;
  /** The coordinator of gateways. */
  #awake: Coordinator | undefined;
  /** When the alarm of its object rings. */
  alarmMs = Number.POSITIVE_INFINITY;
  #alarm: ObjectAlarm;
  #alarmTimer: { cancelled: boolean } | undefined;
  /** True while its object has what it has saved, and nothing else. */
  isAsleep = false;

  constructor(name: string, world: World, network: Network, options: ControlPlaneOptions) {
    this.name = name;
    this.port = options.standby?.port;
    this.process = new Process(name);
    this.process.skewMs = options.standby?.skewMs ?? 0;
    this.#world = world;
    this.#network = network;
    this.#options = options;
    this.#alarm = this.#newAlarm();
    const begun = world.enter(this.process, () => (options.standby ? this.#wait() : this.#begin()));
    this.#standby = begun instanceof Standby ? begun : undefined;
    this.#agents = begun.agents;
    this.coordinator = begun instanceof Standby ? begun.api : begun;
    if (options.gateways && begun instanceof Coordinator) {
      this.coordinator = this.#guarded(begun);
      network.coordinators += 1;
      this.#gatewayLinks = new PlaneGatewayLinks(world, this.process, begun, options.gateways);
      this.#awake = begun;
    } else network.servers.unshift(this);
  }

  get isWaiting(): boolean {
    return throws(() => this.#standby?.assertActive());
  }

  isRemoved(hostId: number): boolean {
    return this.#options.isRemoved(hostId);
  }

  accept(link: Link, accepted: Accepted): void {
    accepted(this.#answer(link));
  }

  #answer(link: Link): AgentConnection | Refusal {
    if (throws(() => this.#standby?.assertAdmitting()))
      return { status: 503, body: { message: 'Try another control plane.' } };
    if (this.isRemoved(link.hostId)) return REMOVED;
    const socket = {
      send: (data: string | Uint8Array) => link.sendDown(data),
      close: (code: number, reason: string) => link.closeDown(code, reason),
    };
    return this.#agents.connect(socket, link.hostId);
  }

  /** Admits the agent of a connection at a gateway, and returns the id of the connection. */
  admit(gateway: number, link: Link): string | undefined {
    this.#guard();
    return this.#gatewayLinks?.admit(gateway, link);
  }

  /** A batch from a gateway. */
  up(batch: Portion<SessionMessage>[], passed: PassedBytes): Rejected {
    this.#guard();
    return this.#gatewayLinks?.up(batch, passed) ?? [];
  }

  /** The coordinator loses its memory, but for what it saves, if nothing is under way (C232). */
  sleep(): boolean {
    const { gateways } = this.#options;
    const saved = structuredClone(this.#awake?.saved);
    const links = saved && this.#gatewayLinks?.saved();
    if (!gateways || !saved || !links || !this.#gatewayLinks || !this.process.alive) return false;
    this.#world.note(`${this.name} sleeps`);
    this.#alarm.rest();
    this.#alarm = this.#newAlarm();
    this.isAsleep = true;
    this.process.alive = false;
    this.process = Object.assign(new Process(this.name), { skewMs: this.process.skewMs });
    this.#awake = this.#world.enter(this.process, () => this.#coordinator({ resumes: saved }));
    this.coordinator = this.#guarded(this.#awake);
    const slept = { saved: links, links: this.#gatewayLinks };
    this.#gatewayLinks = new PlaneGatewayLinks(this.#world, this.process, this.#awake, gateways, slept);
    return true;
  }

  /** Called before every event of the object. */
  #guard(): void {
    this.isAsleep = false;
    this.#alarm.guard();
  }

  #guarded(coordinator: Coordinator): Coordinator {
    const get = (target: Coordinator, name: string | symbol) => {
      const verb: unknown = Reflect.get(target, name);
      if (typeof verb !== 'function') return verb;
      return (...args: unknown[]) => {
        this.#guard();
        return Reflect.apply(verb, target, args);
      };
    };
    return new Proxy(coordinator, { get });
  }

  #newAlarm(): ObjectAlarm {
    const world = this.#world;
    const set = (timeMs: number) => {
      if (this.#alarmTimer) this.#alarmTimer.cancelled = true;
      this.alarmMs = timeMs;
      if (timeMs < Number.POSITIVE_INFINITY)
        this.#alarmTimer = world.after(timeMs - world.nowMs, () => this.#ring());
    };
    const storage = {
      setAlarm: async (timeMs: number) => set(timeMs),
      deleteAlarm: async () => set(Number.POSITIVE_INFINITY),
    };
    return new ObjectAlarm(storage, this.#log, () => world.nowMs);
  }

  #ring(): void {
    if (!this.process.alive) return;
    this.#alarm.rang();
    this.#guard();
    const answer = () =>
      this.#alarm.answer(
        async () => {},
        () => this.#awake?.wake(),
      );
    void this.#world.enter(this.process, answer);
  }

  /** Opens a log as operations do. */
  openLog(...args: Parameters<OpenLog>): Promise<ReadableStream<Uint8Array>> {
    const { coordinator } = this;
    const { gateways } = this.#options;
    const logsAt = gateways
      ? gatewayLogs(
          (gateway, ...rest) => gateways.at(gateway).dial(this.process, gateway, ...rest),
          this.#memory,
        )
      : ownLogs(this.#agents);
    return serviceLogs({ place: (request) => coordinator.place(request), logsAt })(...args);
  }

  /** What a stream of a client here requires, if agents are connected here. */
  streamDeps(rules: StreamRules): StreamSessionDeps {
    return {
      clock: { ...clockOf(this.#world, this.process), monotonicMs: () => this.#world.nowMs },
      rules,
      place: (request) => this.coordinator.place(request),
      channelsAt: async (at) => ownChannels(this.#agents, at),
    };
  }

  /** `silently` means without closing its connections, as after a power failure. */
  kill(silently = false): void {
    if (!this.process.alive) return;
    this.#world.note(`${this.name} is killed`);
    this.process.alive = false;
    this.#network.servers = this.#network.servers.filter((one) => one !== this);
    if (this.#gatewayLinks) this.#network.coordinators -= 1;
    this.#network.ended(this.process, silently);
    this.#options.killed(this);
  }

  #begin(): Coordinator {
    const coordinator = this.#coordinator();
    if (!this.#options.isReached) coordinator.wake();
    if (this.#options.gateways) this.#guard();
    return coordinator;
  }

  #wait(): Standby {
    const world = this.#world;
    const { process } = this;
    const beganMs = world.nowMs;
    const standby = new Standby({
      db: this.#options.store.connect(process),
      clock: clockOf(world, process),
      log: this.#log,
      monotonicMs: () => world.nowMs - beganMs,
      checkSchema: async () => {},
      newCoordinator: (seen, retired) =>
        this.#coordinator({ claim: { isBeating: true, yields: true, ...(seen && { seen }) }, retired }),
    });
    standby.start();
    return standby;
  }

  readonly #log = (event: string, fields: Record<string, unknown> = {}): void => {
    const world = this.#world;
    world.count(`log: ${event}`);
    world.note(`${this.name} ${event} ${JSON.stringify(fields)}`);
    checkRefusal(world, event, fields.what);
    if (event === 'standby.takes-over') this.#options.takesOver();
    if (event === 'coordinator.ready') this.#options.ready(this, Number(fields.epoch));
    if (event !== 'coordinator.lost' || fields.retired !== true || this.#options.standby) return;
    this.isRetired = true;
    this.#options.retired(this);
  };

  #coordinator(options: Pick<CoordinatorDeps, 'claim' | 'resumes' | 'retired'> = {}): Coordinator {
    const world = this.#world;
    const { process } = this;
    const { store, scheduling } = this.#options;
    let timer: { cancelled: boolean } | undefined;
    const coordinator = new Coordinator({
      db: store.connect(process),
      log: this.#log,
      idCode,
      deploymentName: DEPLOYMENT,
      scheduling,
      ...options,
      keepEndedDays: (this.#options.keepMs ?? 0) / DAY_MS,
      clock: {
        nowMs: () => Math.floor(world.nowMs + process.skewMs),
        // An object on workerd has the platform's clock only.
        monotonicMs: () => world.nowMs + (this.#options.gateways ? process.skewMs : 0),
        wakeAt: (timeMs) => {
          const dueMs = timeMs === null ? null : Math.max(world.nowMs + 1, timeMs - process.skewMs);
          if (this.#options.gateways) return this.#alarm.set(dueMs);
          if (timer) timer.cancelled = true;
          if (dueMs !== null) timer = world.after(dueMs - world.nowMs, () => coordinator.wake(), process);
        },
        defer: (turn) => {
          world.count('turn');
          world.after(0, turn, process);
        },
        ...clockOf(world, process),
      },
    });
    return coordinator;
  }
}

function throws(check: () => void): boolean {
  try {
    check();
    return false;
  } catch {
    return true;
  }
}
