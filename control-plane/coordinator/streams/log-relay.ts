/**
 * One subscriber of one service's output: the start that it reads, the host of that start, and the
 * outstanding credit. A stalled subscriber costs at most one window of memory (P9). The relay continues after
 * a reconnect of the agent (P10).
 */
import { CHUNK_HEADER_BYTES, LOG_WINDOW_BYTES, type LogChunk } from '../../../shared/protocol/codec.ts';
import type { LogFormat, LogPart } from '../../../shared/protocol/down.ts';
import type { Up } from '../../../shared/protocol/up.ts';
import {
  encodeFrame,
  encodeNote,
  heartbeat,
  type LogNote,
  type LogPosition,
} from '../../../shared/streams/log-frames.ts';
import { smallestGrant } from '../../core/streams/log-windows.ts';
import type { LogSink } from '../connections/open-logs.ts';
import type { LogServer } from '../connections/session-peer.ts';

const LINE_FEED = 10;

/** Where the output of the service is. */
export interface LogSource {
  /** Number of the last start; 0: none. */
  generation: number;
  /** The connected host of that start; undefined while it is not connected. */
  server: LogServer | undefined;
  /** The host was removed, and its logs with it. */
  removed: boolean;
  /** Why the host is not connected, if that may last: a sentence. */
  away?: string | undefined;
  /** No start follows. */
  final: boolean;
}

export interface LogRelayOptions {
  service: number;
  format: LogFormat;
  /** Called at every update. */
  source(): LogSource;
  /** Called once, when the stream has ended or was cancelled. */
  done(): void;
  /** The stream consists of frames and begins there. */
  from?: LogPosition | undefined;
  /** The stream holds at most so many bytes that were not read. */
  window?: number;
  /** A part that is not followed ends where `source` is final; the last lines are those of the last start. */
  part?: LogPart;
}

export class LogRelay implements LogSink {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #service: number;
  readonly #format: LogFormat;
  readonly #source: () => LogSource;
  readonly #done: () => void;
  /**
   * True if each chunk follows its position (shared/streams/log-frames.ts), for subscribers that resume on
   * another stream.
   */
  readonly #framed: boolean;
  readonly #window: number;
  readonly #part: LogPart;
  #controller: ReadableByteStreamController | undefined;
  #server: LogServer | undefined;
  #number = 0;
  #isMidLine = false;
  /** Whether the start before has left its last line without an end. */
  #isLineCut = false;
  /** Whether a chunk or the end of a start has arrived. */
  #hasBegun = false;
  /** Whether the subscriber has been informed that the host is lost. */
  #isAway = false;
  #generation = 1;
  #offset = 0;
  /** Bytes granted to the agent and not yet received. */
  #outstanding = 0;

  constructor({
    service,
    format,
    source,
    done,
    from,
    window = LOG_WINDOW_BYTES,
    part = {},
  }: LogRelayOptions) {
    this.#window = window;
    this.#part = part;
    this.#service = service;
    this.#format = format;
    this.#source = source;
    this.#done = done;
    this.#framed = from !== undefined;
    if (from) ({ generation: this.#generation, offset: this.#offset } = from);
    // workerd passes only byte streams from a Durable Object to a Worker.
    this.stream = new ReadableStream(
      {
        type: 'bytes',
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => (this.#server ? this.#grant(this.#server) : this.update()),
        cancel: () => this.#unsubscribe(),
      },
      { highWaterMark: window },
    );
  }

  /** Opens, continues or ends the log after a change of the service or its host. */
  update(): void {
    if (!this.#controller) return;
    // Called even while an earlier start is read: the source returns its last known location once the
    // execution has ended, and must not miss a start.
    const { generation, server, removed, away, final } = this.#source();
    if (this.#server) return;
    if (this.#isTail) this.#generation = Math.max(1, generation);
    if (removed && this.#generation <= generation) {
      // The subscriber has read an incomplete part; a clean end would hide that.
      if (this.#offset > 0) {
        this.#abortWith('the host of the log was removed');
        return;
      }
      this.#generation = generation + 1;
      this.#note({ missing: generation });
      // Sending the note may have called `pull`, which opens the next start.
      if (!this.#controller || this.#server) return;
    }
    if (this.#generation <= generation) {
      // Without free buffer space it waits for the subscriber to read; otherwise each reconnect would cost
      // memory (STREAM-6).
      if (server && this.#freeBytes() > 0) this.#open(server);
      else if (!server && away !== undefined && this.#freeBytes() > 0) this.#reportAway(away);
    } else if (final) {
      const controller = this.#controller;
      this.#finish();
      controller.close();
      // A byte stream with a pending read closes only after that read is answered.
      controller.byobRequest?.respond(0);
    }
  }

  /** Shows that the stream is alive. On workerd, only output reveals that its reader has left. */
  heartbeat(): void {
    if (this.#framed && this.#freeBytes() > 0) this.#controller?.enqueue(heartbeat());
  }

  /** Ends the stream after a line, which says why more is missing. */
  endWith(line: string): void {
    const controller = this.#controller;
    this.#unsubscribe();
    if (!controller) return;
    controller.enqueue(new TextEncoder().encode(`${this.#isMidLine ? '\n' : ''}${line}\n`));
    controller.close();
    // As in `update`.
    controller.byobRequest?.respond(0);
  }

  /** Aborts the stream, so that its reader does not take the output so far for the whole. */
  abort(cause: Error): void {
    const controller = this.#controller;
    this.#unsubscribe();
    controller?.error(cause);
  }

  chunk({ payload, next }: LogChunk): boolean {
    if (!this.#controller) return true;
    if (payload.byteLength > this.#outstanding) return false;
    this.#hasBegun = true;
    this.#offset = next;
    this.#outstanding -= payload.byteLength;
    if (payload.byteLength === 0) return true;
    // Each line begins with its time, also the first one of a start.
    if (this.#isLineCut) this.#controller.enqueue(new Uint8Array([LINE_FEED]));
    this.#isLineCut = false;
    this.#isMidLine = payload.at(-1) !== LINE_FEED;
    const position = { generation: this.#generation, offset: next };
    this.#controller.enqueue(
      this.#framed ? encodeFrame({ service: this.#service, position, payload }) : ownBuffer(payload),
    );
    return true;
  }

  grantRest(): void {
    if (this.#server) this.#grant(this.#server, 1);
  }

  end({ reason, message }: Extract<Up, { type: 'logs.end' }>): void {
    this.#server = undefined;
    if (reason === 'failed') {
      this.#abortWith(message ?? 'the host could not read the log');
      return;
    }
    // The service has moved to another host, or its log is gone. To continue would hide the gap; a framed
    // stream receives a note instead.
    if (reason === 'missing' && this.#offset > 0 && !this.#framed) {
      this.#abortWith('the rest of the log is no longer available');
      return;
    }
    this.#hasBegun = true;
    const ended = this.#generation;
    this.#isLineCut ||= this.#isMidLine && !this.#framed && this.#format === 'timestamps';
    this.#generation += 1;
    this.#offset = 0;
    if (reason === 'missing') this.#note({ missing: ended });
    this.update();
  }

  detached(): void {
    this.#server = undefined;
    this.update();
  }

  /** Once until the log continues. */
  #reportAway(text: string): void {
    if (this.#isAway) return;
    this.#isAway = true;
    this.#note({ trouble: text });
    if (this.#framed) return;
    const line = `${this.#isMidLine ? '\n' : ''}[berth] ${text}\n`;
    this.#isMidLine = false;
    this.#controller?.enqueue(new TextEncoder().encode(line));
  }

  #open(server: LogServer): void {
    this.#server = server;
    this.#isAway = false;
    this.#outstanding = this.#freeBytes();
    const key = { service: this.#service, generation: this.#generation };
    const { tail, ...rest } = this.#part;
    const part = this.#isTail ? { ...rest, tail } : rest;
    this.#number = server.openLog(key, this.#offset, this.#outstanding, this.#format, this, part);
  }

  /** Whether the last lines are still to be found. */
  get #isTail(): boolean {
    return this.#part.tail !== undefined && !this.#hasBegun;
  }

  /** Free buffer space, including credit that is already granted. */
  #freeBytes(): number {
    return this.#controller?.desiredSize ?? 0;
  }

  #grant(server: LogServer, leastBytes = smallestGrant(this.#window)): void {
    const credit = this.#freeBytes() - this.#outstanding;
    if (credit < leastBytes) return;
    this.#outstanding += credit;
    server.grant(this.#number, credit);
  }

  #note(note: LogNote): void {
    if (this.#framed) this.#controller?.enqueue(encodeNote(this.#service, note));
  }

  #abortWith(message: string): void {
    this.abort(new Error(message));
  }

  #unsubscribe(): void {
    this.#server?.closeLog(this.#number, this.#outstanding);
    this.#finish();
  }

  #finish(): void {
    if (!this.#controller) return;
    this.#controller = undefined;
    this.#server = undefined;
    this.#done();
  }
}

/**
 * The stream takes over the buffer. Copies a payload that shares its buffer; slice would not copy a Buffer.
 */
const ownBuffer = (payload: Uint8Array): Uint8Array =>
  payload.buffer.byteLength === CHUNK_HEADER_BYTES + payload.byteLength ? payload : new Uint8Array(payload);
