/**
 * Owns an agent of a large cluster: the real protocol on a real socket, without an engine. Every process it is told to
 * start has ended as soon as it runs. Keeps nothing of what is over, so that a thousand fit into a process.
 */
import { WebSocket } from 'ws';
import { type Assignment, keyOf } from '../../shared/protocol/assignment.ts';
import { decodeDown, encode } from '../../shared/protocol/codec.ts';
import type { Down } from '../../shared/protocol/down.ts';
import { CONNECT_PATH } from '../../shared/protocol/enrolment.ts';
import type { Observation } from '../../shared/protocol/up.ts';
import { hello, seen } from '../support/scripted-agent.ts';

export interface SimulatedAgentOptions {
  port: number;
  deployment: string;
  /** Name of its host. */
  name: string;
  authorization: string;
}

export interface SimulatedAgentEvents {
  joined(): void;
  /** Told to start, be it for the first time or not. */
  started(assignment: Assignment): void;
  /** That the container of a service is gone is acknowledged, hence committed. */
  ended(): void;
  /** The connection is over, which it never should be. */
  closed(reason: string): void;
}

export class SimulatedAgent {
  readonly #socket: WebSocket;
  readonly #events: SimulatedAgentEvents;
  readonly #assignments = new Map<string, Assignment>();
  /** Reports that told of a container that is gone and are not yet acknowledged. */
  readonly #gone = new Set<number>();
  #sequence = 0;

  /** `authorization`: the proof of its host. */
  constructor(
    { port, deployment, name, authorization }: SimulatedAgentOptions,
    events: SimulatedAgentEvents,
  ) {
    this.#events = events;
    this.#socket = new WebSocket(`ws://127.0.0.1:${port}${CONNECT_PATH}`, {
      headers: { authorization },
      perMessageDeflate: false,
    });
    this.#socket.on('open', () => this.#socket.send(encode(hello({ deployment }, { facts: { name } }))));
    this.#socket.on('message', (data: Buffer) => this.#take(decodeDown(data.toString())));
    this.#socket.on('error', (error) => events.closed(String(error)));
    this.#socket.on('close', (code, reason) => events.closed(`${code} ${reason}`));
  }

  #take(message: Down): void {
    switch (message.type) {
      case 'welcome':
        setInterval(() => this.#report(), message.reportPeriodMs);
        return;
      case 'sync':
        for (const assignment of message.assignments) this.#start(assignment);
        if (!message.more) this.#events.joined();
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
    this.#assignments.set(keyOf(assignment), assignment);
    this.#report(seen.running(assignment));
    this.#report(seen.exited(assignment, 0));
  }

  #report(...observations: Observation[]): number {
    const sequence = ++this.#sequence;
    this.#socket.send(encode({ type: 'report', sequence, observations, forgotten: [] }));
    return sequence;
  }
}
