/**
 * Owns one connection of an agent: which host it speaks for, its revision, and its open log streams.
 * Decides nothing: what a message means is the coordinator's.
 */
import type { Assignment, IdRange, ServiceKey } from '../../../shared/protocol/assignment.ts';
import { type CloseReason, closeCodes } from '../../../shared/protocol/close.ts';
import {
  decodeChunk,
  decodeUp,
  encode,
  type LogChunk,
  ProtocolError,
} from '../../../shared/protocol/codec.ts';
import type { Down, LogFormat } from '../../../shared/protocol/down.ts';
import type { Up } from '../../../shared/protocol/up.ts';
import { PROTOCOL_VERSION } from '../../../shared/protocol/version.ts';
import type { AgentSocket } from '../ports.ts';

/** Who reads a log stream (log-relay.ts). */
export interface LogSink {
  /** False where it is more than was granted. */
  chunk(chunk: LogChunk): boolean;
  end(end: Extract<Up, { type: 'logs.end' }>): void;
  /** The connection is gone; the stream may be opened again on the next one. */
  detached(): void;
}

/** What a session hands on. `bye` comes exactly once. */
export interface SessionEvents {
  hello(session: AgentSession, hello: Extract<Up, { type: 'hello' }>): void;
  report(session: AgentSession, report: Extract<Up, { type: 'report' }>): void;
  /** It has sent of a log what it was not asked for. */
  refused(session: AgentSession, what: string): void;
  bye(session: AgentSession): void;
}

type Welcome = Omit<Extract<Down, { type: 'welcome' }>, 'type' | 'version'>;

/** Assignments in one part of a sync; keeps frames far below the message limits of every runtime. */
const SYNC_PART = 100;

export class AgentSession {
  /** The host it speaks for, as its key has proved. */
  readonly hostId: number;
  /** The lease that its welcome tells; null: none. */
  leaseMs: number | null = null;
  /** Once its hello was taken in. */
  isJoined = false;
  /** Keys in the inventory of its hello. */
  listed: ReadonlySet<string> = new Set();
  readonly #socket: AgentSocket;
  readonly #events: SessionEvents;
  readonly #sinks = new Map<number, LogSink>();
  readonly #firstStream: number;
  #nextStream: number;
  #revision = 0;
  #receivedHello = false;
  #closed = false;

  /** `firstStream`: differs from the last connection's, so that its late chunks hit no reader of this one. */
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

  /** Takes in a frame: a text message or the bytes of a log chunk. */
  receive(data: string | Uint8Array): void {
    if (this.#closed) return;
    try {
      if (typeof data === 'string') this.#message(decodeUp(data));
      else this.#chunk(decodeChunk(data));
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.close('badMessage', error.message);
    }
  }

  /** The socket is closed, by whomever. */
  closed(): void {
    if (this.#closed) return;
    this.#closed = true;
    const sinks = [...this.#sinks.values()];
    this.#sinks.clear();
    // First, so that a reader which looks for a session to go on with does not find this one.
    this.#events.bye(this);
    for (const sink of sinks) sink.detached();
  }

  close(reason: CloseReason, detail: string = reason): void {
    if (this.#closed) return;
    // A close reason holds at most 123 bytes.
    this.#socket.close(closeCodes[reason].code, detail.replace(/[^ -~]/g, '?').slice(0, 120));
    this.closed();
  }

  /** Says welcome, and sends every assignment of the host (P3). */
  welcome(welcome: Welcome, assignments: readonly Assignment[], unknown: readonly IdRange[]): void {
    this.#send({ type: 'welcome', version: PROTOCOL_VERSION, ...welcome });
    this.#sync(assignments, unknown);
  }

  #sync(assignments: readonly Assignment[], unknown: readonly IdRange[]): void {
    this.#revision += 1;
    for (let from = 0; from === 0 || from < assignments.length; from += SYNC_PART) {
      const part = assignments.slice(from, from + SYNC_PART);
      const more = from + SYNC_PART < assignments.length;
      const rest = more || unknown.length === 0 ? {} : { unknown: [...unknown] };
      this.#send({ type: 'sync', revision: this.#revision, assignments: part, more, ...rest });
    }
  }

  start(assignment: Assignment): void {
    this.#send({ type: 'start', revision: ++this.#revision, assignment });
  }

  stop({ service, generation }: ServiceKey): void {
    this.#send({ type: 'stop', revision: ++this.#revision, service, generation });
  }

  forget(services: number[]): void {
    this.#send({ type: 'forget', services });
  }

  acknowledge(sequence: number, timeMs: number): void {
    this.#send({ type: 'ack', sequence, timeMs });
  }

  /** How many log streams are open. */
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
        if (this.#receivedHello) throw new ProtocolError('hello came twice');
        this.#receivedHello = true;
        this.#events.hello(this, message);
        return;
      case 'report':
        if (!this.isJoined) throw new ProtocolError('report came before hello');
        this.#events.report(this, message);
        return;
      case 'logs.end': {
        if (!this.#wasOpened(message.stream)) {
          this.#events.refused(this, 'the end of a log');
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
    // A stream closed a moment ago may have chunks under way.
    if (sink) {
      if (!sink.chunk(chunk)) this.#events.refused(this, 'more of a log than its credit');
    } else if (this.#wasOpened(chunk.stream)) this.#send({ type: 'logs.close', stream: chunk.stream });
    else this.#events.refused(this, 'a part of a log');
  }

  /** On this connection; a stream number is given once on it. */
  #wasOpened(stream: number): boolean {
    const distance = (to: number) => (to - this.#firstStream + 2 ** 32) % 2 ** 32;
    return distance(stream) < distance(this.#nextStream);
  }

  #send(message: Down): void {
    if (this.#closed) return;
    try {
      this.#socket.send(encode(message));
    } catch {
      // The runtime found the socket closed first; its close event may come late.
      this.closed();
    }
  }
}
