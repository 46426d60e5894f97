/**
 * Owns one subscriber of one service's output: which start of the service it is at, from which host, and how much may be
 * under way. A subscriber that stops costs at most one window of memory (P9), and goes on after a reconnect (P10).
 */
import {
  CHUNK_HEADER_BYTES,
  LOG_CHUNK_BYTES,
  LOG_WINDOW_BYTES,
  type LogChunk,
} from '../../../shared/protocol/codec.ts';
import type { LogFormat } from '../../../shared/protocol/down.ts';
import type { Up } from '../../../shared/protocol/up.ts';
import {
  encodeFrame,
  encodeNote,
  heartbeat,
  type LogNote,
  type LogPosition,
} from '../../core/streams/log-frames.ts';
import type { LogSubscriber } from '../../core/streams/stream-subscriber.ts';
import type { AgentSession, LogSink } from '../agents/agent-session.ts';
import type { Subscription } from './subscriptions.ts';

/** What is known of the service now: where its last start was, and whether more output can still come. */
export interface LogSource {
  generation: number;
  session: AgentSession | undefined;
  /** That host is none any more, and its logs are gone. */
  removed: boolean;
  /** No further generation will come. */
  final: boolean;
}

export class LogRelay implements LogSink, Subscription {
  readonly stream: ReadableStream<Uint8Array>;
  readonly subscriber: LogSubscriber;
  readonly #service: number;
  readonly #format: LogFormat;
  readonly #source: () => LogSource;
  readonly #done: () => void;
  /** Each chunk behind its position (core/log-frames.ts), for subscriptions who go on elsewhere. */
  readonly #framed: boolean;
  #controller: ReadableByteStreamController | undefined;
  #session: AgentSession | undefined;
  #number = 0;
  #generation = 1;
  #offset = 0;
  /** Bytes granted to the agent and not yet received. */
  #outstanding = 0;

  /**
   * `source` is asked again at every turn of events; `done` is called once, when the stream has ended or was cancelled.
   * With `from` the stream is of frames, and begins there.
   */
  constructor(
    subscriber: LogSubscriber,
    service: number,
    format: LogFormat,
    source: () => LogSource,
    done: () => void,
    from?: LogPosition,
  ) {
    this.subscriber = subscriber;
    this.#service = service;
    this.#format = format;
    this.#source = source;
    this.#done = done;
    this.#framed = from !== undefined;
    if (from) ({ generation: this.#generation, offset: this.#offset } = from);
    // A byte stream, since workerd passes no other between a Durable Object and a Worker.
    this.stream = new ReadableStream(
      {
        type: 'bytes',
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => (this.#session ? this.#grant(this.#session) : this.update()),
        cancel: () => this.#unsubscribe(),
      },
      { highWaterMark: LOG_WINDOW_BYTES },
    );
  }

  /** Something about the service or its host changed: open, go on, or end. */
  update(): void {
    if (!this.#controller || this.#session) return;
    const { generation, session, removed, final } = this.#source();
    if (removed && this.#generation <= generation) {
      // What was read of it has no end: that must not look like one.
      if (this.#offset > 0) {
        this.#abortWith('the host of the log was removed');
        return;
      }
      this.#generation = generation + 1;
      this.#note({ missing: generation });
      // The note may have been asked for, and with it what follows.
      if (!this.#controller || this.#session) return;
    }
    if (this.#generation <= generation) {
      // Without room it waits until the subscriber has read; or each reconnect would cost memory.
      if (session && this.#freeBytes() > 0) this.#open(session);
    } else if (final) {
      const controller = this.#controller;
      this.#finish();
      controller.close();
      // A byte stream with a subscriber waiting closes only after that subscriber was answered.
      controller.byobRequest?.respond(0);
    }
  }

  heartbeat(): void {
    if (this.#framed && this.#freeBytes() > 0) this.#controller?.enqueue(heartbeat());
  }

  /** Whatever is left of the output is not for this subscriber, or not to be had here: what it has must not look like all. */
  abort(cause: Error): void {
    const controller = this.#controller;
    this.#unsubscribe();
    controller?.error(cause);
  }

  chunk({ payload, next }: LogChunk): boolean {
    if (!this.#controller) return true;
    if (payload.byteLength > this.#outstanding) return false;
    this.#offset = next;
    this.#outstanding -= payload.byteLength;
    if (payload.byteLength === 0) return true;
    const position = { generation: this.#generation, offset: next };
    this.#controller.enqueue(
      this.#framed ? encodeFrame({ service: this.#service, position, payload }) : ownBuffer(payload),
    );
    return true;
  }

  end({ reason, message }: Extract<Up, { type: 'logs.end' }>): void {
    this.#session = undefined;
    if (reason === 'failed') {
      this.#abortWith(message ?? 'the host could not read the log');
      return;
    }
    // The service is on another host now, or its log is gone: to go on would hide a gap. A note tells of it.
    if (reason === 'missing' && this.#offset > 0 && !this.#framed) {
      this.#abortWith('the rest of the log is not where it was');
      return;
    }
    const ended = this.#generation;
    this.#generation += 1;
    this.#offset = 0;
    if (reason === 'missing') this.#note({ missing: ended });
    this.update();
  }

  detached(): void {
    this.#session = undefined;
    this.update();
  }

  #open(session: AgentSession): void {
    this.#session = session;
    this.#outstanding = this.#freeBytes();
    const key = { service: this.#service, generation: this.#generation };
    this.#number = session.openLog(key, this.#offset, this.#outstanding, this.#format, this);
  }

  /** Room in the buffer that nobody was promised yet. */
  #freeBytes(): number {
    return this.#controller?.desiredSize ?? 0;
  }

  #grant(session: AgentSession): void {
    const credit = this.#freeBytes() - this.#outstanding;
    if (credit < LOG_CHUNK_BYTES) return;
    this.#outstanding += credit;
    session.grant(this.#number, credit);
  }

  #note(note: LogNote): void {
    if (this.#framed) this.#controller?.enqueue(encodeNote(this.#service, note));
  }

  #abortWith(message: string): void {
    this.abort(new Error(message));
  }

  #unsubscribe(): void {
    this.#session?.closeLog(this.#number);
    this.#finish();
  }

  #finish(): void {
    if (!this.#controller) return;
    this.#controller = undefined;
    this.#session = undefined;
    this.#done();
  }
}

/** The stream takes the buffer over: a copy where others have a part in it, which a Buffer's own slice would not make. */
const ownBuffer = (payload: Uint8Array): Uint8Array =>
  payload.buffer.byteLength === CHUNK_HEADER_BYTES + payload.byteLength ? payload : new Uint8Array(payload);
