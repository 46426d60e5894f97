/**
 * A simulated gateway: the real one, on simulated sockets and calls. It can be killed, which ends its
 * sockets, and it can sleep, which ends only its memory.
 */

import type { AgentConnection } from '../../../../control-plane/coordinator/connections/agent-connection.ts';
import type { ObjectSocket } from '../../../../control-plane/coordinator/connections/object-socket.ts';
import { type ConnectionState, Gateway } from '../../../../control-plane/coordinator/gateways/gateway.ts';
import type { DialGateway } from '../../../../control-plane/coordinator/gateways/gateway-channels.ts';
import type { GatewayLink } from '../../../../control-plane/coordinator/runtime/object-links.ts';
import {
  type DialPlacement,
  remotePlacements,
  servePlacement,
} from '../../../../control-plane/coordinator/streams/remote-placement.ts';
import type { StreamSessionDeps } from '../../../../control-plane/coordinator/streams/stream-session.ts';
import { holdMs } from '../../../../control-plane/core/model/host.ts';
import type { StreamRules } from '../../../../control-plane/core/model/stream-rules.ts';
import { checkRefusal } from '../checks/streams.ts';
import { type Accepted, type Link, type Network, REMOVED, type Server } from '../world/network.ts';
import { Process, type World } from '../world/time.ts';
import type { ControlPlane } from './control-plane.ts';
import type { GatewayCalls } from './gateway-calls.ts';
import { clockOf } from './plane-gateway-links.ts';
import { RelayCheck } from './relay-check.ts';

/** What is attached to a socket. */
interface Attached {
  link: Link;
  id: string;
  /** Undefined for a connection that begins. */
  state: ConnectionState | undefined;
  connection?: AgentConnection;
}

export class GatewayServer implements Server {
  readonly name: string;
  readonly port = undefined;
  readonly number: number;
  /** Holds the sockets. */
  process: Process;
  readonly #world: World;
  readonly #network: Network;
  readonly #calls: GatewayCalls;
  /** The coordinator that calls reach at the time. */
  readonly #coordinator: () => ControlPlane | undefined;
  readonly #lostAfterMs: number;
  readonly #attached = new Map<string, Attached>();
  /**
   * The object's storage: connections of whose end the coordinator does not know, and when the alarm rings.
   */
  readonly #stored = new Set<string>();
  #alarmMs: number | undefined;
  /** The object's memory, which calls reach. */
  memory: Process;
  gateway: Gateway;
  #lives = 0;

  constructor(
    number: number,
    world: World,
    network: Network,
    calls: GatewayCalls,
    coordinator: () => ControlPlane | undefined,
    lostAfterMs: number,
  ) {
    this.#lostAfterMs = lostAfterMs;
    this.number = number;
    this.name = `gw${number}`;
    this.#world = world;
    this.#network = network;
    this.#calls = calls;
    this.#coordinator = coordinator;
    this.process = new Process(this.name);
    this.memory = this.process;
    this.gateway = this.#wake();
  }

  accept(link: Link, accepted: Accepted): void {
    const coordinator = this.#coordinator();
    if (coordinator?.isRemoved(link.hostId)) {
      accepted(REMOVED);
      return;
    }
    const admission = this.#calls.call(
      this.memory,
      () => coordinator?.process,
      () => coordinator?.admit(this.number, link),
    );
    admission.then(
      (id) => {
        if (id === undefined || !coordinator) return link.cut('server');
        link.server = coordinator;
        const name = (direction: string) => () => `${link.name} ${direction}`;
        link.relayed = {
          up: new RelayCheck(this.#world, name('up'), () => link.isHeld),
          down: new RelayCheck(this.#world, name('down'), () => link.isHeld),
        };
        this.#stored.add(id);
        if (this.#alarmMs === undefined) this.#setAlarm(this.#world.nowMs + this.#lostAfterMs);
        accepted(this.#open({ link, id, state: undefined }));
      },
      () => link.cut('server'),
    );
  }

  /** What others call, with `from` as the caller. */
  stub(from: Process | undefined): Pick<GatewayLink, 'down'> {
    const call = <T>(run: () => T | Promise<T>) => this.#calls.call(from, () => this.memory, run);
    return {
      down: (incarnation, batch) => call(() => this.gateway.down(incarnation, structuredClone(batch))),
    };
  }

  /** Opens a socket to a channel here, with `from` as its reader. */
  dial(from: Process, ...[, request, events]: Parameters<DialGateway>): ReturnType<DialGateway> {
    return this.#calls.dial(
      from,
      () => this.memory,
      events,
      async (socket) => {
        const passed = await this.gateway.pass(structuredClone(request), () => socket);
        if (!passed || passed === 'full') return passed;
        return { message: (data) => passed.receive(data), closed: () => passed.closed() };
      },
    );
  }

  /** What a stream of a client here requires. */
  streamDeps(rules: StreamRules): StreamSessionDeps {
    const world = this.#world;
    const memory = this.memory;
    const gateway = this.gateway;
    return {
      clock: { ...clockOf(world, memory), monotonicMs: () => world.nowMs },
      rules,
      ...remotePlacements((...args) => this.#dialCoordinator(memory, ...args)),
      channelsAt: async ({ gateway: at }) => (at ? gateway.channelsOf(at) : undefined),
    };
  }

  async #dialCoordinator(
    from: Process,
    ...[request, events]: Parameters<DialPlacement>
  ): ReturnType<DialPlacement> {
    const coordinator = this.#coordinator();
    if (!coordinator) throw new Error('there is no coordinator');
    const { process } = coordinator;
    const serve = async (socket: ObjectSocket) => {
      const placement = await coordinator.coordinator.place(structuredClone(request));
      return servePlacement(placement, socket, clockOf(this.#world, process));
    };
    const socket = await this.#calls.dial(from, () => process, events, serve);
    if (!socket || socket === 'full') throw new Error('the call was lost');
    return socket;
  }

  /** Ends the object and its sockets. */
  kill(silently: boolean): void {
    this.#world.note(`${this.name} is killed`);
    const { process } = this;
    this.#endMemory();
    process.alive = false;
    this.#attached.clear();
    this.process = new Process(this.name);
    this.#network.ended(process, silently);
    this.gateway = this.#wake();
  }

  /** Ends the object's memory only, unless it has the sockets of clients or readers. */
  sleep(): void {
    if (
      [...this.#attached.values()].some(
        ({ connection }) => connection && connection.channels.streams + connection.channels.outputs > 0,
      )
    )
      return;
    this.#world.note(`${this.name} sleeps`);
    this.#endMemory();
    this.gateway = this.#wake();
    for (const attached of [...this.#attached.values()]) attached.link.restore(this.#open(attached));
  }

  /** The runtime keeps the alarm, whatever becomes of the object's memory. */
  #setAlarm(timeMs: number): void {
    this.#alarmMs = timeMs;
    this.#world.after(timeMs - this.#world.nowMs, () => this.#world.enter(this.memory, () => this.#ring()));
  }

  #ring(): void {
    this.#alarmMs = undefined;
    const nextMs = this.gateway.endSilent();
    for (const id of this.#stored) this.gateway.missing(id);
    if (this.#stored.size > 0) this.#setAlarm(nextMs ?? this.#world.nowMs + this.#lostAfterMs);
  }

  #endMemory(): void {
    this.memory.alive = false;
  }

  #wake(): Gateway {
    const world = this.#world;
    this.#lives += 1;
    const memory = new Process(`${this.name}.${this.#lives}`);
    this.memory = memory;
    const nowMs = () => Math.floor(world.nowMs);
    return new Gateway({
      log: (event, fields = {}) => {
        world.count(`log: ${event}`);
        world.note(`${memory.name} ${event} ${JSON.stringify(fields)}`);
        checkRefusal(world, event, fields.what);
      },
      clock: { nowMs, monotonicMs: nowMs, ...clockOf(world, memory) },
      maxWaitingLength: 2 ** 25,
      holdMs: holdMs(this.#lostAfterMs),
      lostAfterMs: this.#lostAfterMs,
      over: (id) => {
        this.#stored.delete(id);
      },
      up: (...batch) => {
        const coordinator = this.#coordinator();
        return this.#calls.call(
          memory,
          () => coordinator?.process,
          () => coordinator?.up(...structuredClone(batch)) ?? [],
        );
      },
    });
  }

  #open(attached: Attached): AgentConnection {
    const { link, id } = attached;
    const memory = this.memory;
    this.#attached.set(id, attached);
    const socket = {
      send: (data: string | Uint8Array) => link.sendDown(data),
      close: (code: number, reason: string) => {
        this.#attached.delete(id);
        link.closeDown(code, reason);
      },
      lastPulseMs: () => link.pulsedMs,
    };
    const changed = (state: ConnectionState) => {
      attached.state = state;
    };
    const connection = this.#world.enter(memory, () =>
      this.gateway.open(socket, link.hostId, id, changed, attached.state),
    );
    attached.connection = connection;
    // Its memory runs what the socket brings.
    const receive = connection.receive.bind(connection);
    const closed = connection.closed.bind(connection);
    return Object.assign(connection, {
      receive: (data: string | Uint8Array) => this.#world.enter(memory, () => receive(data)),
      closed: () => {
        this.#attached.delete(id);
        this.#world.enter(memory, closed);
      },
    });
  }
}
