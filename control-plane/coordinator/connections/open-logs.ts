/**
 * Open logs: the log streams that one connection has opened, and what may still arrive of those that were
 * closed. Readers open and close logs at any time, so that the host must not pay for the messages that they
 * cause as for its own (P152).
 */
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import { LOG_WINDOW_BYTES, type LogChunk, MAX_LOG_STREAMS } from '../../../shared/protocol/codec.ts';
import type { Down, LogFormat, LogPart } from '../../../shared/protocol/down.ts';
import type { Up } from '../../../shared/protocol/up.ts';
import { STREAM_NUMBERS } from '../../../shared/streams/targets.ts';
import { collectMs } from '../../core/streams/log-collection.ts';
import type { Traffic } from './traffic.ts';

type LogEnd = Extract<Up, { type: 'logs.end' }>;

/** Receives the output of one log stream (log-relay.ts). */
export interface LogSink {
  /** Returns false if the chunk exceeds the granted credit. */
  chunk(chunk: LogChunk): boolean;
  /** Grants whatever credit is free, however little. */
  grantRest(): void;
  end(end: LogEnd): void;
  /** The connection has closed. The stream may be opened again on the next one. */
  detached(): void;
}

export class OpenLogs {
  readonly #sinks = new Map<number, LogSink>();
  readonly #firstStream: number;
  #nextStream: number;
  /** Closed logs whose end may still arrive, and the bytes that may. */
  #lateEnds = 0;
  #lateBytes = 0;
  /** How long the agent collects output, as the last message to it states (P178). */
  #collectMs = 0;
  readonly #count: Pick<Traffic, 'open' | 'bytes'>;
  readonly #send: (message: Down) => void;
  readonly #refused: (what: string) => void;

  /**
   * `firstStream` must differ from the numbers of the previous connection, so that its late chunks reach no
   * sink of this one. `refused` is called for log data that was not requested.
   */
  constructor(
    firstStream: number,
    count: Pick<Traffic, 'open' | 'bytes'>,
    send: (message: Down) => void,
    refused: (what: string) => void,
  ) {
    this.#firstStream = firstStream;
    this.#nextStream = firstStream;
    this.#count = count;
    this.#send = send;
    this.#refused = refused;
  }

  get size(): number {
    return this.#sinks.size;
  }

  /** Opens a log and returns the number of its stream. */
  open(
    key: ServiceKey,
    offset: number,
    credit: number,
    format: LogFormat,
    sink: LogSink,
    part: LogPart = {},
  ): number {
    const stream = this.#nextStream;
    this.#nextStream = (this.#nextStream + 1) % STREAM_NUMBERS;
    this.#sinks.set(stream, sink);
    this.#count.open += 1;
    this.#collectMs = collectMs(this.#count.open);
    const { service, generation } = key;
    const collected = this.#collectMs > 0 && { collectMs: this.#collectMs };
    const opened = { stream, service, generation, offset, credit, format };
    this.#send({ type: 'logs.open', ...opened, ...collected, ...part });
    return stream;
  }

  grant(stream: number, bytes: number): void {
    if (!this.#sinks.has(stream)) return;
    const collected = this.#hasNewTime && { collectMs: collectMs(this.#count.open) };
    if (collected) this.#collectMs = collected.collectMs;
    this.#send({ type: 'logs.credit', stream, bytes, ...collected });
  }

  /** Closes a log, with as much of its credit unused. */
  close(stream: number, creditBytes: number): void {
    if (!this.#remove(stream)) return;
    // No more can be under way than an agent may serve at once, however often readers come and go.
    this.#lateEnds = Math.min(MAX_LOG_STREAMS, this.#lateEnds + 1);
    this.#lateBytes = Math.min(MAX_LOG_STREAMS * LOG_WINDOW_BYTES, this.#lateBytes + creditBytes);
    this.#send({ type: 'logs.close', stream });
  }

  /** The connection has closed. Returns the sinks of its open logs. */
  detach(): LogSink[] {
    const sinks = [...this.#sinks.values()];
    this.#sinks.clear();
    this.#count.open -= sinks.length;
    return sinks;
  }

  /** Whether a reader has caused this part. A host that sends empty parts does so by itself. */
  isRequestedPart({ stream, payload }: LogChunk): boolean {
    if (payload.length === 0) return false;
    return this.#sinks.has(stream) || (this.#wasOpened(stream) && payload.length <= this.#lateBytes);
  }

  /** Whether a reader has caused the end of this stream. */
  isRequestedEnd(stream: number): boolean {
    return this.#sinks.has(stream) || (this.#wasOpened(stream) && this.#lateEnds > 0);
  }

  chunk(chunk: LogChunk): void {
    const sink = this.#sinks.get(chunk.stream);
    if (sink) {
      this.#count.bytes += chunk.payload.length;
      if (!sink.chunk(chunk)) this.#refused('more log data than its credit');
      else if (this.#hasNewTime) sink.grantRest();
    } else if (this.#wasOpened(chunk.stream)) {
      this.#lateBytes = Math.max(0, this.#lateBytes - chunk.payload.length);
      this.#send({ type: 'logs.close', stream: chunk.stream });
    } else this.#refused('a part of a log that was not opened');
  }

  end(end: LogEnd): void {
    const sink = this.#sinks.get(end.stream);
    if (sink) {
      this.#remove(end.stream);
      sink.end(end);
    } else if (this.#wasOpened(end.stream)) this.#lateEnds = Math.max(0, this.#lateEnds - 1);
    else this.#refused('the end of a log that was not opened');
  }

  /** True if the agent must collect output for another time than it does (P178). */
  get #hasNewTime(): boolean {
    return this.#collectMs !== collectMs(this.#count.open);
  }

  /** False if no such log is open. */
  #remove(stream: number): boolean {
    const isOpen = this.#sinks.delete(stream);
    if (isOpen) this.#count.open -= 1;
    return isOpen;
  }

  /** True if this connection has used that stream number. Each number is used once. */
  #wasOpened(stream: number): boolean {
    const distance = (to: number) => (to - this.#firstStream + STREAM_NUMBERS) % STREAM_NUMBERS;
    return distance(stream) < distance(this.#nextStream);
  }
}
