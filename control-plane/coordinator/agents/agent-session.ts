/**
 * One connection of an agent: the host that the agent has proved to be, the revision, and the open log
 * streams. The session checks the order of messages; the coordinator decides what they mean.
 */
import { depthProblem } from '../../../shared/json-depth.ts';
import type { Assignment, IdRange, ServiceKey } from '../../../shared/protocol/assignment.ts';
import { MAX_FORGOTTEN, MAX_SHARES } from '../../../shared/protocol/bounds.ts';
import { type CloseReason, closeCodes } from '../../../shared/protocol/close.ts';
import {
  decodeChunk,
  decodeUp,
  encode,
  type LogChunk,
  ProtocolError,
} from '../../../shared/protocol/codec.ts';
import type { Down, LogFormat } from '../../../shared/protocol/down.ts';
import type { Overlay } from '../../../shared/protocol/swarm.ts';
import type { Up } from '../../../shared/protocol/up.ts';
import { PROTOCOL_VERSION } from '../../../shared/protocol/version.ts';
import type { CoreShare } from '../../core/state/core-shares.ts';
import type { AgentSocket } from '../ports.ts';
import { LOG_PART_COST, messageCost, RETURN_MS } from './message-allowance.ts';
import { syncParts } from './sync-parts.ts';

/** Receives the output of one log stream (log-relay.ts). */
export interface LogSink {
  /** Returns false if the chunk exceeds the granted credit. */
  chunk(chunk: LogChunk): boolean;
  end(end: Extract<Up, { type: 'logs.end' }>): void;
  /** The connection has closed. The stream may be opened again on the next one. */
  detached(): void;
}

/** Receives the events of a session. `bye` is called exactly once. */
export interface SessionEvents {
  hello(session: AgentSession, hello: Extract<Up, { type: 'hello' }>): void;
  report(session: AgentSession, report: Extract<Up, { type: 'report' }>): void;
  /** The agent has sent log data that was not requested. */
  refused(session: AgentSession, what: string): void;
  /**
   * Counts a message of the host. Returns the time in ms until the next one is within the host's allowance.
   */
  useAllowance(session: AgentSession, cost: number): number;
  bye(session: AgentSession): void;
}

/** What an acknowledgement can hold. Beyond it, services have the share of their reservation (P150). */
const boundedShares = (shares: readonly CoreShare[]): CoreShare[] =>
  shares
    .slice(0, MAX_SHARES)
    .map(({ cores, executions }) => ({ cores, executions: executions.slice(0, MAX_SHARES) }));

/** The depth of a frame is measured from this length on: only long ones can be deep enough to cost much. */
const SHALLOW_LENGTH = 64 * 1024;

function decodeText(text: string): Up {
  const problem = text.length > SHALLOW_LENGTH ? depthProblem(text) : undefined;
  if (problem) throw new ProtocolError(`a text frame ${problem}`);
  return decodeUp(text);
}

type Welcome = Omit<Extract<Down, { type: 'welcome' }>, 'type' | 'version'>;

export class AgentSession {
  /** The host whose key the agent has proved to hold. */
  readonly hostId: number;
  /** The lease that the welcome grants; null: no lease. */
  leaseMs: number | null = null;
  /** True once its hello is committed. */
  isJoined = false;
  /** Keys of the services in the inventory of its hello. */
  listed: ReadonlySet<string> = new Set();
  readonly #socket: AgentSocket;
  readonly #events: SessionEvents;
  readonly #sinks = new Map<number, LogSink>();
  readonly #firstStream: number;
  #nextStream: number;
  /** The core shares that were sent last, as text; undefined before the first acknowledgement. */
  #coreShares: string | undefined;
  #revision = 0;
  #receivedHello = false;
  #closed = false;

  /**
   * `firstStream` must differ from the numbers of the previous connection, so that its late chunks reach no
   * sink of this one.
   */
  constructor(socket: AgentSocket, hostId: number, events: SessionEvents, firstStream: number) {
    this.#socket = socket;
    this.hostId = hostId;
    this.#events = events;
    this.#firstStream = firstStream;
    this.#nextStream = firstStream;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Receives one frame: a text message, or the bytes of a log chunk. */
  receive(data: string | Uint8Array): void {
    if (this.#closed) return;
    try {
      const chunk = typeof data === 'string' ? undefined : decodeChunk(data);
      const isLogPart = chunk !== undefined && this.#wasOpened(chunk.stream);
      if (!this.#isAllowed(isLogPart ? LOG_PART_COST : messageCost(data.length))) return;
      if (typeof data === 'string') this.#message(decodeText(data));
      else if (chunk) this.#chunk(chunk);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.close('badMessage', error.message);
    }
  }

  /**
   * Beyond the host's allowance (P152), the next messages wait in the network. Where they can't, and for a
   * host with a second allowance in excess, the connection closes before this one is parsed. The result is
   * then false.
   */
  #isAllowed(cost: number): boolean {
    const waitMs = this.#events.useAllowance(this, cost);
    if (waitMs === 0) return true;
    if (!this.#socket.pause || waitMs > RETURN_MS) {
      this.close('unavailable', `too many messages: try again in ${Math.ceil(waitMs / 1_000)} s`);
      return false;
    }
    this.#socket.pause(waitMs);
    return true;
  }

  /** The socket has closed, from either side. */
  closed(): void {
    if (this.#closed) return;
    this.#closed = true;
    const sinks = [...this.#sinks.values()];
    this.#sinks.clear();
    // Must come first: a sink that looks for a session to continue with must not find this one.
    this.#events.bye(this);
    for (const sink of sinks) sink.detached();
  }

  close(reason: CloseReason, detail: string = reason): void {
    if (this.#closed) return;
    // A close reason holds at most 123 bytes.
    this.#socket.close(closeCodes[reason].code, detail.replace(/[^ -~]/g, '?').slice(0, 120));
    this.closed();
  }

  /** Sends the welcome, then every assignment of the host (P3). */
  welcome(welcome: Welcome, assignments: Iterable<Assignment>, unknown: readonly IdRange[]): void {
    this.#send({ type: 'welcome', version: PROTOCOL_VERSION, ...welcome });
    this.#sync(assignments, unknown);
  }

  #sync(assignments: Iterable<Assignment>, unknown: readonly IdRange[]): void {
    this.#revision += 1;
    for (const part of syncParts(assignments)) {
      const rest = part.more || unknown.length === 0 ? {} : { unknown: [...unknown] };
      this.#send({ type: 'sync', revision: this.#revision, ...part, ...rest });
    }
  }

  start(assignment: Assignment): void {
    this.#send({ type: 'start', revision: ++this.#revision, assignment });
  }

  stop({ service, generation }: ServiceKey): void {
    this.#send({ type: 'stop', revision: ++this.#revision, service, generation });
  }

  forget(services: number[]): void {
    for (let from = 0; from < services.length; from += MAX_FORGOTTEN)
      this.#send({ type: 'forget', services: services.slice(from, from + MAX_FORGOTTEN) });
  }

  /** Requests an overlay network of the swarm that the host's engine manages. */
  makeOverlay({ isolation, of }: Overlay): void {
    this.#send({ type: 'network.make', isolation, of });
  }

  /** The core shares are sent if they are others than before. */
  acknowledge(sequence: number, timeMs: number, shares: readonly CoreShare[]): void {
    const text = JSON.stringify(shares);
    const coreShares = text === this.#coreShares ? undefined : boundedShares(shares);
    this.#coreShares = text;
    this.#send({ type: 'ack', sequence, timeMs, ...(coreShares && { coreShares }) });
  }

  get openLogs(): number {
    return this.#sinks.size;
  }

  /** Opens a log stream and returns its number. */
  openLog(key: ServiceKey, offset: number, credit: number, format: LogFormat, sink: LogSink): number {
    const stream = this.#nextStream;
    this.#nextStream = (this.#nextStream + 1) % 2 ** 32;
    this.#sinks.set(stream, sink);
    const { service, generation } = key;
    this.#send({ type: 'logs.open', stream, service, generation, offset, credit, format });
    return stream;
  }

  grant(stream: number, bytes: number): void {
    if (this.#sinks.has(stream)) this.#send({ type: 'logs.credit', stream, bytes });
  }

  closeLog(stream: number): void {
    if (this.#sinks.delete(stream)) this.#send({ type: 'logs.close', stream });
  }

  #message(message: Up): void {
    switch (message.type) {
      case 'hello':
        if (this.#receivedHello) throw new ProtocolError('second hello on one connection');
        this.#receivedHello = true;
        this.#events.hello(this, message);
        return;
      case 'report':
        if (!this.isJoined) throw new ProtocolError('report before the hello was accepted');
        this.#events.report(this, message);
        return;
      case 'logs.end': {
        if (!this.#wasOpened(message.stream)) {
          this.#events.refused(this, 'the end of a log that was not opened');
          return;
        }
        const sink = this.#sinks.get(message.stream);
        this.#sinks.delete(message.stream);
        sink?.end(message);
        return;
      }
    }
  }

  #chunk(chunk: LogChunk): void {
    const sink = this.#sinks.get(chunk.stream);
    // Chunks of a stream that was closed a moment ago may still arrive.
    if (sink) {
      if (!sink.chunk(chunk)) this.#events.refused(this, 'more log data than its credit');
    } else if (this.#wasOpened(chunk.stream)) this.#send({ type: 'logs.close', stream: chunk.stream });
    else this.#events.refused(this, 'a part of a log that was not opened');
  }

  /** True if this connection has used that stream number. Each number is used once. */
  #wasOpened(stream: number): boolean {
    const distance = (to: number) => (to - this.#firstStream + 2 ** 32) % 2 ** 32;
    return distance(stream) < distance(this.#nextStream);
  }

  #send(message: Down): void {
    if (this.#closed) return;
    try {
      this.#socket.send(encode(message));
    } catch {
      // The runtime has noticed the closed socket first; its close event may come late.
      this.closed();
    }
  }
}
