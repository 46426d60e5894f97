/**
 * An agent of a large cluster: the real protocol on a real socket, connected as real agents connect, without
 * an engine. Every service that it starts runs at once and, if `ends` is set, exits at once. It retains
 * nothing about ended services, so that thousands of agents fit into a process.
 */
import { Addresses } from '../../../agent/connection/addresses.ts';
import type { SessionSocket } from '../../../agent/connection/session-options.ts';
import { type Receiver, stayConnected } from '../../../agent/connection/socket.ts';
import { type Assignment, keyOf, type ServiceKey } from '../../../shared/protocol/assignment.ts';
import { decodeDown, encode, encodeChunk } from '../../../shared/protocol/codec.ts';
import type { Down } from '../../../shared/protocol/down.ts';
import { PULSE } from '../../../shared/protocol/pulse.ts';
import type { Observation } from '../../../shared/protocol/up.ts';
import { encodeFrame, FRAME_HEADER_BYTES } from '../../../shared/streams/log-frames.ts';
import { type AgentKey, proofOf } from '../../../test/support/agents/enrolment.ts';
import { hello, seen } from '../../../test/support/agents/scripted-agent.ts';

export interface SimulatedAgentOptions {
  /** URL of the control plane. */
  url: string;
  deployment: string;
  /** Name of its host. */
  name: string;
  hostId: number;
  key: AgentKey;
  /** Cores of its host. Default: 64. */
  cores?: number;
  /** True if every started service exits at once. */
  ends: boolean;
  /** Output of each service while its log is read. Default: none. */
  outputBytesPerS?: number;
}

export interface SimulatedAgentEvents {
  /** Called when a complete sync has arrived, at first and after each reconnect. */
  synced(): void;
  /** Called for each start command, and for those that repeat what `runs` already. */
  started(assignment: Assignment, runs: boolean): void;
  /** Called when a service has been stopped. */
  stopped?(assignment: Assignment): void;
  /** Called when the control plane has acknowledged, and therefore committed, that a container is gone. */
  ended(): void;
}

const PING_MS = 10_000;
/** How often a service writes output, and how often an agent sends it unless it must collect for longer. */
const OUTPUT_MS = 50;
/** Agents begin to send output at any moment of so long: those of different machines are not in step. */
const PHASES_MS = 200;

/** Runs one agent until `signal` aborts. */
export function simulateAgent(
  options: SimulatedAgentOptions,
  events: SimulatedAgentEvents,
  signal: AbortSignal,
): Promise<void> {
  const { url, hostId, deployment, key } = options;
  const assignments = new Map<string, Assignment>();
  return stayConnected({
    addresses: new Addresses([new URL(url)]),
    identity: { headers: async () => ({ Authorization: proofOf(hostId, deployment, key) }) },
    engine: 'simulated',
    begin: (socket) => new SimulatedSession(socket, options, events, assignments),
    log: () => {},
    nowMs: Date.now,
    random: Math.random,
    pingMs: PING_MS,
    signal,
  });
}

class SimulatedSession implements Receiver {
  readonly #socket: SessionSocket;
  readonly #options: SimulatedAgentOptions;
  readonly #events: SimulatedAgentEvents;
  /** Running services. They outlive the session. */
  readonly #assignments: Map<string, Assignment>;
  /** Sequences of unacknowledged reports that a container is gone. */
  readonly #gone = new Set<number>();
  /** Open logs by their channels: whose they are, the credit, and the offset of the next byte. */
  readonly #logs = new Map<number, ServiceKey & { credit: number; offset: number }>();
  /** How long output is collected (P178). */
  #collectMs = 0;
  /** When output was sent last, by `performance.now`. */
  #sentMs = 0;
  /** What the parts of the sync under way have named. */
  #synced = new Set<string>();
  #sequence = 0;
  #outputTimer: NodeJS.Timeout | undefined;
  #reportTimer: NodeJS.Timeout | undefined;
  #spreadMs: number | undefined;

  constructor(
    socket: SessionSocket,
    options: SimulatedAgentOptions,
    events: SimulatedAgentEvents,
    assignments: Map<string, Assignment>,
  ) {
    this.#socket = socket;
    this.#options = options;
    this.#events = events;
    this.#assignments = assignments;
    const { deployment, name, cores } = options;
    const facts = { name, ...(cores !== undefined && { cores }) };
    const inventory = Array.from(assignments.values(), seen.running);
    socket.send(encode(hello({ deployment }, { facts, inventory })));
  }

  get spreadMs(): number | undefined {
    return this.#spreadMs;
  }

  receive(text: string | Uint8Array): void {
    if (typeof text !== 'string') return;
    if (text !== PULSE) this.#take(decodeDown(text));
  }

  closed(): void {
    clearInterval(this.#reportTimer);
    clearInterval(this.#outputTimer);
  }

  #take(message: Down): void {
    switch (message.type) {
      case 'welcome':
        this.#spreadMs = message.spreadMs;
        this.#reportTimer =
          message.pulseMs === undefined
            ? setInterval(() => this.#report(), message.reportPeriodMs)
            : setInterval(() => this.#socket.send(PULSE), message.pulseMs);
        return;
      case 'report.request':
        this.#report();
        return;
      case 'sync':
        for (const assignment of message.assignments) {
          this.#synced.add(keyOf(assignment));
          this.#start(assignment);
        }
        if (!message.more) this.#endSync();
        return;
      case 'start':
        this.#start(message.assignment);
        return;
      case 'stop': {
        const assignment = this.#assignments.get(keyOf(message));
        if (!assignment) throw new Error(`received a stop for ${keyOf(message)}, which does not run`);
        this.#stop(assignment);
        return;
      }
      case 'collect':
        this.#collectMs = message.ms;
        return;
      case 'channel.open': {
        const { channel, service, generation, credit, target } = message;
        if (target.kind !== 'output') return;
        this.#socket.send(encode({ type: 'channel.opened', channel }));
        this.#logs.set(channel, { service, generation, credit, offset: target.offset });
        if (this.#outputTimer) return;
        this.#sentMs = performance.now() - Math.random() * PHASES_MS;
        this.#outputTimer = setTimeout(() => {
          this.#outputTimer = setInterval(() => this.#writeOutput(), OUTPUT_MS);
        }, Math.random() * OUTPUT_MS);
        return;
      }
      case 'channel.credit': {
        const log = this.#logs.get(message.channel);
        if (log) log.credit += message.bytes;
        return;
      }
      case 'channel.reset':
        this.#logs.delete(message.channel);
        return;
      case 'ack':
        // In ascending order. An acknowledgement covers all reports up to its sequence (P7).
        for (const sequence of this.#gone) {
          if (sequence > message.sequence) break;
          this.#gone.delete(sequence);
          this.#events.ended();
        }
    }
  }

  /** Writes to every log that is read, as far as its credit allows. */
  #writeOutput(): void {
    const { outputBytesPerS = 0 } = this.#options;
    const nowMs = performance.now();
    const passedMs = nowMs - this.#sentMs;
    // A timer is rarely late by more than a fifth of its period.
    if (passedMs < this.#collectMs - OUTPUT_MS / 5) return;
    this.#sentMs = nowMs;
    const producedBytes = Math.round((outputBytesPerS * passedMs) / 1_000);
    for (const [channel, log] of this.#logs) {
      const length = Math.min(log.credit - FRAME_HEADER_BYTES, producedBytes);
      if (length <= 0) continue;
      log.credit -= FRAME_HEADER_BYTES + length;
      log.offset += length;
      const frame = encodeFrame({ service: log.service, position: log, payload: new Uint8Array(length) });
      void this.#socket.sendBytes(encodeChunk({ channel, payload: frame }));
    }
  }

  /** Sends two reports, as for a real container, whose start and end are observed one after the other. */
  #start(assignment: Assignment): void {
    const runs = this.#assignments.has(keyOf(assignment));
    this.#events.started(assignment, runs);
    this.#assignments.set(keyOf(assignment), assignment);
    if (runs) return;
    this.#report(seen.running(assignment));
    if (this.#options.ends) this.#report(seen.exited(assignment, 0));
  }

  /** A complete sync names everything that should run. */
  #endSync(): void {
    for (const [key, assignment] of this.#assignments) if (!this.#synced.has(key)) this.#stop(assignment);
    this.#synced = new Set();
    this.#events.synced();
  }

  #stop(assignment: Assignment): void {
    this.#assignments.delete(keyOf(assignment));
    this.#events.stopped?.(assignment);
    this.#gone.add(this.#report(seen.gone(assignment)));
  }

  #report(...observations: Observation[]): number {
    const sequence = ++this.#sequence;
    this.#socket.send(encode({ type: 'report', sequence, observations, forgotten: [] }));
    return sequence;
  }
}
