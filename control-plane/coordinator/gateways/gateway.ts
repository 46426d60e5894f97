/**
 * A gateway: holds the sockets of some hosts, decodes and bounds what their agents send, and relays messages
 * to the coordinator and back in batches. Carries the channels of its hosts. It decides nothing: whatever it
 * and the coordinator disagree about ends the connection of that host, whose agent says hello anew (P172).
 */
import { MAX_CHANNELS } from '../../../shared/streams/targets.ts';
import {
  type AgentConnection,
  closeArguments,
  type SessionMessage,
} from '../connections/agent-connection.ts';
import { AgentConnections, type ConnectionDeps } from '../connections/agent-connections.ts';
import type { ObjectSocket } from '../connections/object-socket.ts';
import type { OpenChannels } from '../connections/open-channels.ts';
import type { GatewayAddress } from '../connections/session-peer.ts';
import { noTraffic, type PassedBytes, takeBytes } from '../connections/traffic.ts';
import type { AgentSocket, Clock } from '../ports.ts';
import { BatchSender } from './batch-sender.ts';
import { type ChannelRequest, PassedChannel } from './passed-channel.ts';
import { newEntries, type Portion, type Rejected } from './portion.ts';

export interface GatewayOptions extends ConnectionDeps {
  clock: Pick<Clock, 'nowMs' | 'monotonicMs' | 'after'>;
  /** Passes a batch to the coordinator, with the bytes that have passed since the last one. */
  up(batch: Portion<SessionMessage>[], passed: PassedBytes): Promise<Rejected>;
  /** What may wait for the coordinator, in UTF-16 units of the agents' messages. */
  maxWaitingLength: number;
  /** For so long, reports that only show that the agent lives wait for others (P177). */
  holdMs: number;
  /** The silence after which a connection ends (P180). */
  lostAfterMs: number;
  /** The coordinator knows that this connection is over, or never had it. */
  over?(id: string): void;
}

/** How many entries a connection has had in each direction. */
export interface EntryCounts {
  up: number;
  /** Those of `up` that the coordinator has. */
  delivered: number;
  down: number;
}

/** What a gateway that sleeps keeps of a connection. */
export interface ConnectionState extends EntryCounts {
  /** The last sign of life but for pulses, or a later time from which the silence counts. */
  heardMs: number;
  /** This time of a pulse is from before a step of the clock, and does not count. */
  invalidPulseMs?: number;
}

const NO_ENTRIES: EntryCounts = { up: 0, delivered: 0, down: 0 };
const GONE = { code: 1006, reason: '' };
/**
 * An agent whose silence should have been noticed longer ago could not be heard: the gateway did not run. A
 * sign of life that is further ahead is from before a step of the clock.
 */
const LATE_MS = 10_000;

interface Held {
  connection: AgentConnection;
  hostId: number;
  socket: AgentSocket;
  state: ConnectionState;
  /** What the agent has last said of the host itself. Absent after a sleep. */
  facts?: string;
  /** The coordinator has ended the connection, or never had it. */
  isOver: boolean;
  changed(state: ConnectionState): void;
  /** Called when messages have arrived, or the connection is over. */
  waiting: (() => void)[];
}

export class Gateway {
  readonly #options: GatewayOptions;
  readonly #connections: AgentConnections;
  readonly #sender: BatchSender<SessionMessage>;
  /** By id of the connection. */
  readonly #held = new Map<string, Held>();
  /** Its bytes are those that the coordinator has not been told of. Those of a call that fails are lost. */
  readonly #traffic = noTraffic();
  /** Names of hosts, as their last hello gives them. */
  readonly #names = new Map<number, string>();

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#connections = new AgentConnections(
      { ...options, traffic: this.#traffic },
      (hostId) => this.#names.get(hostId) ?? hostId,
    );
    this.#sender = new BatchSender({
      ...options,
      to: 'coordinator',
      send: (batch) => options.up(batch, takeBytes(this.#traffic)),
      delivered: (id, count) => {
        const held = this.#held.get(id);
        if (held) this.#change(held, { delivered: count });
      },
      ended: (id, isKnown) => {
        if (isKnown) options.over?.(id);
      },
      lost: (id, isKnown) => this.#end(id, 'the coordinator does not have this connection', isKnown),
    });
  }

  /**
   * Accepts a connection that the coordinator has admitted with this id, or takes one back after the gateway
   * has slept. The caller must pass it its frames, and the end of the socket. `changed` receives its state
   * whenever that changes.
   */
  open(
    socket: AgentSocket,
    hostId: number,
    id: string,
    changed: (state: ConnectionState) => void,
    state: ConnectionState = { ...NO_ENTRIES, heardMs: this.#options.clock.nowMs() },
  ): AgentConnection {
    this.#sender.begin(id, state.up);
    const connection = this.#connections.connect(socket, hostId, () => ({
      receive: (message, length) => this.#receive(id, message, length),
      closed: () => this.#closed(id),
    }));
    this.#held.set(id, { connection, hostId, socket, state, isOver: false, changed, waiting: [] });
    changed(state);
    if (state.up > 0) connection.channels.resumed();
    // What waited was lost with the memory of the gateway.
    if (state.delivered < state.up)
      connection.close(...closeArguments('resync', 'the gateway has restarted'));
    return connection;
  }

  /** Tells the coordinator that a connection of this id, which the gateway had before it ended, is over. */
  missing(id: string): void {
    if (this.#held.has(id) || this.#sender.has(id)) return;
    this.#sender.begin(id);
    this.#sender.close(id, GONE);
  }

  /**
   * Ends the connections of agents that have been silent for too long. Returns the earliest time at which
   * another one would be; null if there are no connections (P180).
   */
  endSilent(): number | null {
    const { clock, lostAfterMs } = this.#options;
    const nowMs = clock.nowMs();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const held of [...this.#held.values()]) {
      const lateMs = nowMs - this.#lastSignMs(held) - lostAfterMs;
      if (lateMs >= 0 && lateMs <= LATE_MS) {
        this.#options.log('gateway.silent', { host: this.#names.get(held.hostId) ?? held.hostId });
        held.connection.close(...closeArguments('resync', 'no sign of life'));
        continue;
      }
      // Nobody could hear the agent, or the clock was set back.
      if (lateMs > LATE_MS || lateMs < -lostAfterMs - LATE_MS) {
        const pulseMs = held.socket.lastPulseMs?.();
        this.#change(held, { heardMs: nowMs, ...(pulseMs && { invalidPulseMs: pulseMs }) });
      }
      nextMs = Math.min(nextMs, this.#lastSignMs(held) + lostAfterMs);
    }
    return nextMs === Number.POSITIVE_INFINITY ? null : nextMs;
  }

  #lastSignMs({ socket, state }: Held): number {
    const pulseMs = socket.lastPulseMs?.() ?? 0;
    return pulseMs === state.invalidPulseMs ? state.heardMs : Math.max(pulseMs, state.heardMs);
  }

  /**
   * A batch from the coordinator. Connections of another coordinator than `incarnation` end: it has lost its
   * memory of them.
   */
  down(incarnation: string, batch: readonly Portion<string>[]): Rejected {
    for (const id of [...this.#held.keys()])
      if (!id.startsWith(`${incarnation}.`)) this.#end(id, 'the coordinator has restarted');
    return batch.flatMap((portion) => (this.#accept(portion) ? [] : [portion.connection]));
  }

  /**
   * The channels of a connection, once the messages have arrived that the coordinator sent before, such as
   * the start itself. Undefined if the connection has ended.
   */
  async channelsOf({
    connection: id,
    sent,
  }: Pick<GatewayAddress, 'connection' | 'sent'>): Promise<OpenChannels | undefined> {
    await this.#arrived(id, sent);
    return this.#held.get(id)?.connection.channels;
  }

  /**
   * Passes a channel to a reader in another object, on the socket that `open` returns. Resolves to `full` if
   * the host serves its maximum, and to undefined if the connection has ended.
   */
  async pass(request: ChannelRequest, open: () => ObjectSocket): Promise<PassedChannel | 'full' | undefined> {
    const channels = await this.channelsOf(request.at);
    if (!channels) return undefined;
    if (request.target.kind === 'output' && channels.outputs >= MAX_CHANNELS) return 'full';
    return new PassedChannel(channels, request, open());
  }

  /** Resolves once that many messages of the coordinator have arrived, or the connection is over. */
  async #arrived(id: string, sent: number): Promise<void> {
    for (let held = this.#held.get(id); held && held.state.down < sent; held = this.#held.get(id)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.waiting.push(resolve);
      await promise;
    }
  }

  #receive(id: string, message: SessionMessage, length: number): void {
    const held = this.#held.get(id);
    if (!held) return;
    if (message.type === 'hello') this.#names.set(held.hostId, message.host.name);
    if (this.#sender.waitingLength + length > this.#options.maxWaitingLength) {
      this.#options.log('gateway.overfull', { host: this.#names.get(held.hostId) ?? held.hostId });
      this.#sender.close(id, GONE, true);
      held.connection.close(...closeArguments('unavailable', 'the coordinator does not keep up'));
      return;
    }
    // With pulses, a report was asked for, and somebody waits for it.
    const mayWait = !held.socket.lastPulseMs?.() && isSignOfLife(message, held.facts);
    if (message.type === 'hello' || message.conditions !== undefined) held.facts = factsOf(message);
    this.#sender.add(id, message, length, mayWait ? this.#options.holdMs : 0);
    this.#change(held, { up: this.#sender.count(id), heardMs: this.#options.clock.nowMs() });
  }

  #accept(portion: Portion<string>): boolean {
    const { connection: id, closing } = portion;
    const held = this.#held.get(id);
    if (!held) return false;
    const entries = newEntries(portion, held.state.down);
    if (!entries) {
      this.#end(id, 'messages of the coordinator are missing');
      return false;
    }
    this.#change(held, { down: held.state.down + entries.length });
    for (const text of entries) held.connection.send(text);
    for (const resolve of held.waiting.splice(0)) resolve();
    if (closing) {
      held.isOver = true;
      held.connection.close(closing.code, closing.reason);
    }
    return true;
  }

  #change(held: Held, state: Partial<ConnectionState>): void {
    held.state = { ...held.state, ...state };
    held.changed(held.state);
  }

  /** Ends a connection of which the coordinator need not be informed, if it knows of the end. */
  #end(id: string, detail: string, isKnown = true): void {
    const held = this.#held.get(id);
    if (!held) return;
    held.isOver = isKnown;
    held.connection.close(...closeArguments('resync', detail));
  }

  #closed(id: string): void {
    const held = this.#held.get(id);
    this.#held.delete(id);
    for (const resolve of held?.waiting ?? []) resolve();
    if (held && !held.isOver) {
      const silentMs = Math.max(0, this.#options.clock.nowMs() - this.#lastSignMs(held));
      this.#sender.close(id, { ...GONE, silentMs });
    } else {
      this.#sender.forget(id);
      this.#options.over?.(id);
    }
  }
}

/** What a message says of the host itself, as text. */
const factsOf = ({ conditions = [], swarm }: SessionMessage): string => JSON.stringify([conditions, swarm]);

/**
 * A report of nothing but the usage of the host (P177). Agents repeat in it what they have said of the host,
 * which `facts` has from the message before.
 */
function isSignOfLife(message: SessionMessage, facts: string | undefined): boolean {
  if (message.type !== 'report' || message.observations.length + message.forgotten.length > 0) return false;
  const isSilent = message.conditions === undefined && message.swarm === undefined;
  return isSilent || factsOf(message) === facts;
}
