/**
 * Owns an agent of a large cluster: the real protocol on a real socket that is dialled as real agents dial, without an
 * engine. What it is told to start runs at once and then, unless told otherwise, has ended at once, too. Keeps nothing of
 * what is over, so that thousands fit into a process.
 */
import type { SessionSocket } from '../../../agent/connection/session.ts';
import { type Receiver, stayConnected } from '../../../agent/connection/socket.ts';
import { type Assignment, keyOf } from '../../../shared/protocol/assignment.ts';
import { decodeDown, encode } from '../../../shared/protocol/codec.ts';
import type { Down } from '../../../shared/protocol/down.ts';
import type { Observation } from '../../../shared/protocol/up.ts';
import { type AgentKey, proofOf } from '../../support/agents/enrolment.ts';
import { hello, seen } from '../../support/agents/scripted-agent.ts';

export interface SimulatedAgentOptions {
  /** Where it dials. */
  url: string;
  deployment: string;
  /** Name and id of its host, and its key. */
  name: string;
  hostId: number;
  key: AgentKey;
  /** Whether what it starts ends at once. */
  ends: boolean;
}

export interface SimulatedAgentEvents {
  /** Welcomed, with its whole sync; also after each reconnect. */
  synced(): void;
  /** Told to start, be it for the first time or not. */
  started(assignment: Assignment): void;
  /** That the container of a service is gone is acknowledged, hence committed. */
  ended(): void;
  /** The connection is over; it is made again. */
  closed(): void;
}

const PING_MS = 10_000;

/** Runs one agent until `signal` aborts. */
export function simulateAgent(
  options: SimulatedAgentOptions,
  events: SimulatedAgentEvents,
  signal: AbortSignal,
): Promise<void> {
  const { url, hostId, deployment, key } = options;
  const assignments = new Map<string, Assignment>();
  return stayConnected({
    url: new URL(url),
    identity: { headers: async () => ({ Authorization: proofOf(hostId, deployment, key) }) },
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
  /** What runs; outlives the session. */
  readonly #assignments: Map<string, Assignment>;
  /** Reports that told of a container that is gone and are not yet acknowledged. */
  readonly #gone = new Set<number>();
  #sequence = 0;
  #signOfLife: NodeJS.Timeout | undefined;
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
    const { deployment, name } = options;
    const inventory = Array.from(assignments.values(), seen.running);
    socket.send(encode(hello({ deployment }, { facts: { name }, inventory })));
  }

  get spreadMs(): number | undefined {
    return this.#spreadMs;
  }

  receive(text: string): void {
    this.#take(decodeDown(text));
  }

  closed(): void {
    clearInterval(this.#signOfLife);
    this.#events.closed();
  }

  #take(message: Down): void {
    switch (message.type) {
      case 'welcome':
        this.#spreadMs = message.spreadMs;
        this.#signOfLife = setInterval(() => this.#report(), message.reportPeriodMs);
        return;
      case 'sync':
        for (const assignment of message.assignments) this.#start(assignment);
        if (!message.more) this.#events.synced();
        return;
      case 'start':
        this.#start(message.assignment);
        return;
      case 'stop': {
        const assignment = this.#assignments.get(keyOf(message));
        if (!assignment) throw new Error(`told to stop ${keyOf(message)}, which does not run`);
        this.#assignments.delete(keyOf(message));
        this.#gone.add(this.#report(seen.gone(assignment)));
        return;
      }
      case 'ack':
        if (this.#gone.delete(message.sequence)) this.#events.ended();
    }
  }

  /** In two reports, as of a real container, whose start and end are seen one after the other. */
  #start(assignment: Assignment): void {
    this.#events.started(assignment);
    const runs = this.#assignments.has(keyOf(assignment));
    this.#assignments.set(keyOf(assignment), assignment);
    if (runs) return;
    this.#report(seen.running(assignment));
    if (this.#options.ends) this.#report(seen.exited(assignment, 0));
  }

  #report(...observations: Observation[]): number {
    const sequence = ++this.#sequence;
    this.#socket.send(encode({ type: 'report', sequence, observations, forgotten: [] }));
    return sequence;
  }
}
