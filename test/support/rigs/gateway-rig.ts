/** A coordinator and one gateway for tests, joined by calls that a test can hold back, lose or repeat. */

import type { AgentConnection } from '../../../control-plane/coordinator/connections/agent-connection.ts';
import type { SocketEvents } from '../../../control-plane/coordinator/connections/object-socket.ts';
import { WINDOW_BYTES_OF_OBJECT } from '../../../control-plane/coordinator/connections/open-channels.ts';
import type { OpenLog } from '../../../control-plane/coordinator/coordinator-api.ts';
import { type ConnectionState, Gateway } from '../../../control-plane/coordinator/gateways/gateway.ts';
import type { DialGateway } from '../../../control-plane/coordinator/gateways/gateway-channels.ts';
import { GatewayLinks } from '../../../control-plane/coordinator/gateways/gateway-links.ts';
import { gatewayLogs } from '../../../control-plane/coordinator/runtime/gateway-channels.ts';
import type { PlacementSource } from '../../../control-plane/coordinator/streams/placements.ts';
import {
  remotePlacements,
  servePlacement,
} from '../../../control-plane/coordinator/streams/remote-placement.ts';
import { serviceLogs } from '../../../control-plane/coordinator/streams/service-logs.ts';
import type { SchedulerConfig } from '../../../control-plane/core/model/scheduler-config.ts';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import type { Observation } from '../../../shared/protocol/up.ts';
import { encodeFrame } from '../../../shared/streams/log-frames.ts';
import { WindowMemory } from '../../../shared/streams/window.ts';
import { MemoryAgent } from '../agents/model-agent.ts';
import { eventually } from '../tools/eventually.ts';
import { CoordinatorRig, HOST_ID, seen } from './coordinator-rig.ts';
import { running } from './core-rig.ts';

/** What becomes of a call: it arrives; it arrives and its answer is lost; it hangs. */
export type Fate = 'arrives' | 'answer lost' | 'hangs';

/** For so long, signs of life wait for others. */
export const HOLD_MS = 2_000;
/** The silence after which a connection ends. */
export const LOST_AFTER_MS = 90_000;

export class GatewayRig {
  readonly rig: CoordinatorRig;
  gateway: Gateway;
  links: GatewayLinks;
  /** Fates of the next calls in each direction; then all arrive. */
  readonly fates: Record<'up' | 'down', Fate[]> = { up: [], down: [] };
  /** Calls that arrived, in both directions. Each may be repeated. */
  readonly calls: { direction: 'up' | 'down'; again: () => unknown }[] = [];
  /** Log lines of gateway and links. */
  readonly logged: string[] = [];
  /** For the windows of the readers in the Worker's isolate. */
  readonly memory = new WindowMemory(WINDOW_BYTES_OF_OBJECT);
  readonly #maxWaitingLength: number;
  /** Connections of whose end the coordinator does not know. */
  readonly stored = new Set<string>();
  #incarnations = 0;

  constructor(rig: CoordinatorRig, maxWaitingLength: number) {
    this.rig = rig;
    this.#maxWaitingLength = maxWaitingLength;
    this.links = this.#makeLinks();
    this.gateway = this.#makeGateway();
  }

  static async open(
    maxWaitingLength = 2 ** 25,
    scheduling: Partial<SchedulerConfig> = {},
  ): Promise<GatewayRig> {
    return new GatewayRig(await CoordinatorRig.open(scheduling), maxWaitingLength);
  }

  /** Another coordinator takes over, without a memory of connections. */
  restartCoordinator(): void {
    this.rig.restart();
    this.links = this.#makeLinks();
  }

  /** The coordinator sleeps, something happens `meanwhile`, and it goes on with what it has saved. */
  async sleepCoordinator(meanwhile: () => Promise<unknown> = async () => {}): Promise<void> {
    const links = await eventually(() => this.links.saved());
    const saved = await eventually(() => this.rig.coordinator.saved);
    await meanwhile();
    this.rig.restart(structuredClone(saved));
    this.links = this.#makeLinks(links.incarnation);
    this.links.resume(structuredClone(links));
  }

  /** The gateway loses its memory; the sockets of `agents` are given back to it. */
  sleep(...agents: GatewayAgent[]): void {
    this.gateway = this.#makeGateway();
    for (const agent of agents) agent.restore(this.gateway);
  }

  /** Waits while time passes, by as much as a call may take. */
  later(condition: () => boolean): Promise<boolean> {
    return eventually(() => {
      this.rig.clock.pass(10_000);
      return condition();
    });
  }

  agent(hostId = HOST_ID, name = 'one'): GatewayAgent {
    const id = this.links.admit(0, {
      hostId,
      proofId: crypto.randomUUID(),
      expiresMs: Number.MAX_SAFE_INTEGER,
    });
    this.stored.add(id);
    return new GatewayAgent(this.gateway, hostId, id, name);
  }

  /** An agent joins, and receives the start of an execution with one service. */
  async starts(): Promise<{ agent: GatewayAgent; id: number; assignment: Assignment }> {
    const agent = await this.agent().join();
    const id = await this.rig.submit();
    return { agent, id, assignment: (await agent.received('start')).assignment };
  }

  /** The same, and the agent has reported that the service runs. */
  async runs(): ReturnType<GatewayRig['starts']> {
    const all = await this.starts();
    all.agent.report([seen(all.assignment, running)]);
    await all.agent.received('ack');
    return all;
  }

  /** The `openLog` of the coordinator's client in the Worker. */
  get openLog(): OpenLog {
    return serviceLogs({ ...this.placements, logsAt: gatewayLogs(this.dial, this.memory) });
  }

  /** The placements of the coordinator, as the Worker and gateways have them. */
  get placements(): PlacementSource {
    const { coordinator, clock } = this.rig;
    return remotePlacements(async (request, events) => {
      const { near, far } = socketPair(events);
      const placement = await coordinator.place(structuredClone(request));
      far.begin(servePlacement(placement, near, clock));
      return far;
    });
  }

  /** Opens channels at the gateway as the Worker does. */
  readonly dial: DialGateway = async (_, request, events) => {
    const { near, far } = socketPair(events);
    const passed = await this.gateway.pass(request, () => near);
    if (!passed || passed === 'full') return passed;
    far.begin({ message: (data) => passed.receive(data), closed: () => passed.closed() });
    return far;
  };

  #makeLinks(incarnation = `life-${++this.#incarnations}`): GatewayLinks {
    return new GatewayLinks({
      agents: this.rig.coordinator.agents,
      keyOf: (hostId) => this.rig.coordinator.keyOf(hostId),
      clock: this.rig.clock,
      log: this.#log,
      incarnation,
      down: (_, ...args) => this.#call('down', () => this.gateway.down(...structuredClone(args))),
      maxWaitingLength: this.#maxWaitingLength,
    });
  }

  #makeGateway(): Gateway {
    return new Gateway({
      clock: this.rig.clock,
      log: this.#log,
      holdMs: HOLD_MS,
      lostAfterMs: LOST_AFTER_MS,
      over: (id) => this.stored.delete(id),
      up: (...batch) => this.#call('up', () => this.links.up(...structuredClone(batch))),
      maxWaitingLength: this.#maxWaitingLength,
    });
  }

  readonly #log = (event: string, fields: Record<string, unknown> = {}) =>
    void this.logged.push(`${event} ${JSON.stringify(fields)}`);

  async #call<T>(direction: 'up' | 'down', run: () => T): Promise<T> {
    await new Promise(setImmediate);
    const fate = this.fates[direction].shift() ?? 'arrives';
    if (fate === 'hangs') return new Promise(() => {});
    this.calls.push({ direction, again: run });
    const value = run();
    if (fate === 'answer lost') throw new Error('the connection was lost');
    return value;
  }
}

export class GatewayAgent extends MemoryAgent {
  readonly id: string;
  connection: AgentConnection;
  state: ConnectionState | undefined;
  /** When the runtime last answered a pulse. */
  pulsedMs: number | null = null;
  readonly #hostId: number;
  /** Bytes of output. */
  #sent = 0;

  constructor(gateway: Gateway, hostId: number, id: string, name: string) {
    super({ name });
    this.#hostId = hostId;
    this.id = id;
    this.connection = this.#openAt(gateway);
  }

  restore(gateway: Gateway): void {
    this.connection = this.#openAt(gateway);
  }

  /** Answers the first open log with output, and ends it. */
  async sendLog(text: string): Promise<void> {
    const { channel } = await this.received('channel.open');
    this.sendPart(text);
    this.sendMessage({ type: 'channel.end', channel });
  }

  /** Sends output on the log that was opened first. */
  sendPart(text: string): void {
    const [opened] = this.socket.all('channel.open');
    if (!opened) throw new Error('no log is open');
    const { channel, service, generation } = opened;
    const payload = new TextEncoder().encode(text);
    this.#sent += payload.byteLength;
    this.chunk(channel, encodeFrame({ service, position: { generation, offset: this.#sent }, payload }));
  }

  /** A report that is more than a sign of life. */
  report(observations: Observation[] = []): void {
    this.reportWith({ observations, conditions: [{ kind: 'clock-skew', text: `news ${this.sequence}` }] });
  }

  /** As real agents do, repeats the conditions of the host: none. */
  signOfLife(): void {
    this.reportWith({ conditions: [] });
  }

  get acknowledged(): number[] {
    return this.socket.all('ack').map(({ sequence }) => sequence);
  }

  #openAt(gateway: Gateway): AgentConnection {
    const changed = (state: ConnectionState) => {
      this.state = state;
    };
    const socket = Object.assign(this.socket, { lastPulseMs: () => this.pulsedMs });
    return gateway.open(socket, this.#hostId, this.id, changed, this.state);
  }
}

/** Both ends of a socket between two objects: what is sent arrives a moment later. */
export function socketPair(events: SocketEvents) {
  let farEvents: SocketEvents | undefined;
  let isOpen = true;
  const later = (run: () => void) => void Promise.resolve().then(run);
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    later(() => events.closed());
    later(() => farEvents?.closed());
  };
  return {
    near: { send: (data: string | Uint8Array) => later(() => events.message(data)), close },
    far: {
      begin: (to: SocketEvents) => {
        farEvents = to;
      },
      send: (data: string | Uint8Array) => later(() => isOpen && farEvents?.message(data)),
      close,
    },
  };
}
