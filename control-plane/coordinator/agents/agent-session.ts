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
import type { Down } from '../../../shared/protocol/down.ts';
import type { Overlay } from '../../../shared/protocol/swarm.ts';
import type { Up } from '../../../shared/protocol/up.ts';
import { PROTOCOL_VERSION } from '../../../shared/protocol/version.ts';
import type { CoreShare } from '../../core/state/core-shares.ts';
import type { AgentSocket } from '../ports.ts';
import { RETURN_MS } from './message-allowance.ts';
import { OpenLogs } from './open-logs.ts';
import { syncParts } from './sync-parts.ts';

/** Receives the events of a session. `bye` is called exactly once. */
export interface SessionEvents {
  hello(session: AgentSession, hello: Extract<Up, { type: 'hello' }>): void;
  report(session: AgentSession, report: Extract<Up, { type: 'report' }>): void;
  /** The agent has sent log data that was not requested. */
  refused(session: AgentSession, what: string): void;
  /**
   * Counts a message of the host. `requested`: readers of logs have caused it. Returns the time in ms until
   * the next one is within the host's allowance.
   */
  useAllowance(session: AgentSession, length: number, requested: boolean): number;
  bye(session: AgentSession): void;
}

/** What an acknowledgement can hold. Beyond it, services have the share of their reservation (P150). */
const boundedShares = (shares: readonly CoreShare[]): CoreShare[] =>
  shares
    .slice(0, MAX_SHARES)
    .map(({ cores, executions }) => ({ cores, executions: executions.slice(0, MAX_SHARES) }));

/** The depth of a frame is measured from this length on: only long ones can be deep enough to cost much. */
const SHALLOW_LENGTH = 64 * 1024;
/** The longest message of `logs.end` in escapes, and its other fields. */
const SHORT_LENGTH = 13_000;

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
  readonly #logs: OpenLogs;
  /** The core shares that were sent last, as text; undefined before the first acknowledgement. */
  #coreShares: string | undefined;
  #revision = 0;
  #receivedHello = false;
  #closed = false;

  /** `firstStream`: see OpenLogs. */
  constructor(socket: AgentSocket, hostId: number, events: SessionEvents, firstStream: number) {
    this.#socket = socket;
    this.hostId = hostId;
    this.#events = events;
    this.#logs = new OpenLogs(
      firstStream,
      (message) => this.#send(message),
      (what) => events.refused(this, what),
    );
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Receives one frame: a text message, or the bytes of a log chunk. */
  receive(data: string | Uint8Array): void {
    if (this.#closed) return;
    try {
      const chunk = typeof data === 'string' ? undefined : decodeChunk(data);
      // Only a short text can be the end of a log, and to parse it costs as much as to count it.
      const short = typeof data === 'string' && data.length <= SHORT_LENGTH ? decodeText(data) : undefined;
      if (!this.#isAllowed(data.length, this.#isRequested(chunk, short))) return;
      if (chunk) this.#logs.chunk(chunk);
      else this.#message(short ?? decodeText(data as string));
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.close('badMessage', error.message);
    }
  }

  #isRequested(chunk: LogChunk | undefined, message: Up | undefined): boolean {
    if (chunk) return this.#logs.isRequestedPart(chunk);
    return message?.type === 'logs.end' && this.#logs.isRequestedEnd(message.stream);
  }

  /**
   * Beyond the host's allowance (P152), the next messages wait in the network. Where they can't, and for a
   * host with a second allowance in excess, the connection closes and this one does not count. The result is
   * then false.
   */
  #isAllowed(length: number, requested: boolean): boolean {
    const waitMs = this.#events.useAllowance(this, length, requested);
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
    const sinks = this.#logs.detach();
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
    return this.#logs.size;
  }

  /** Opens a log stream and returns its number. */
  openLog(...args: Parameters<OpenLogs['open']>): number {
    return this.#logs.open(...args);
  }

  grant(stream: number, bytes: number): void {
    this.#logs.grant(stream, bytes);
  }

  /** Closes a log, with as much of its credit unused. */
  closeLog(stream: number, creditBytes: number): void {
    this.#logs.close(stream, creditBytes);
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
      case 'logs.end':
        this.#logs.end(message);
        return;
    }
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
