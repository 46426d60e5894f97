/**
 * Open streams: those that one connection of an agent carries, and what may still arrive of those that are
 * over (P250 to P253). Never decides who may open one.
 */
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import { CHUNK_HEADER_BYTES, type LogChunk } from '../../../shared/protocol/codec.ts';
import type { StreamDown } from '../../../shared/protocol/down.ts';
import type { StreamUp } from '../../../shared/protocol/up.ts';
import { STREAM_NUMBERS, type StreamTarget } from '../../../shared/streams/targets.ts';
import type { Traffic } from './traffic.ts';

/** Receives what the agent sends on one stream (stream-relay.ts). */
export interface StreamSink {
  /** Returns false if the agent has exceeded its credit. */
  chunk(bytes: Uint8Array): boolean;
  /** Returns false if the message is not allowed at this point. */
  message(message: StreamUp): boolean;
  /** The connection of the agent has closed. */
  detached(): void;
}

/** What a stream needs of the agent's connection. */
export interface StreamPort {
  sendText(message: StreamDown): void;
  sendBytes(frame: Uint8Array): void;
  /** Whether the agent leaves too much unread. Absent where that is not known. */
  isBehind?(): boolean;
  /** Called for bytes or messages that were not requested. */
  refused(what: string): void;
  traffic: Pick<Traffic, 'toServices' | 'fromServices'>;
}

export class OpenStreams {
  readonly #port: StreamPort;
  readonly #sinks = new Map<number, StreamSink>();
  readonly #first: number;
  #opened = 0;

  /**
   * `first`, below STREAM_NUMBERS, must differ from the numbers before the gateway slept that holds the
   * connection, so that what was in transit then reaches no sink of now.
   */
  constructor(port: StreamPort, first = 0) {
    this.#port = port;
    this.#first = first;
  }

  get size(): number {
    return this.#sinks.size;
  }

  /** Whether clients should send no more for now. */
  get isBehind(): boolean {
    return this.#port.isBehind?.() ?? false;
  }

  /**
   * Opens a stream and returns its number. Each number is used once on a connection, which has two billion.
   */
  open(key: ServiceKey, target: StreamTarget, credit: number, sink: StreamSink): number {
    const stream = STREAM_NUMBERS + ((this.#first + this.#opened++) % STREAM_NUMBERS);
    this.#sinks.set(stream, sink);
    const { service, generation } = key;
    this.#port.sendText({ type: 'stream.open', stream, service, generation, target, credit });
    return stream;
  }

  /** Sends to the agent, unless the stream is over. */
  send(message: StreamDown): void {
    if (this.#sinks.has(message.stream)) this.#port.sendText(message);
  }

  sendBytes(stream: number, frame: Uint8Array): void {
    if (!this.#sinks.has(stream)) return;
    this.#port.traffic.toServices += frame.length - CHUNK_HEADER_BYTES;
    this.#port.sendBytes(frame);
  }

  /** The stream is over. Unless the agent knows, it must be informed. */
  close(stream: number, isKnown: boolean): void {
    if (this.#sinks.delete(stream) && !isKnown) this.#port.sendText({ type: 'stream.reset', stream });
  }

  /**
   * Whether somebody has caused this message. What comes late cannot be told from what a host sends by
   * itself.
   */
  isRequested(stream: number): boolean {
    return this.#sinks.has(stream);
  }

  /** Late chunks of streams that are over are ignored. */
  chunk({ stream, payload }: LogChunk): void {
    const sink = this.#sinks.get(stream);
    if (sink) {
      this.#port.traffic.fromServices += payload.length;
      if (payload.length === 0 || !sink.chunk(payload))
        this.#port.refused('more bytes than the credit of a stream');
    } else if (!this.#wasOpened(stream)) this.#port.refused('bytes of a stream that was not opened');
  }

  receive(message: StreamUp): void {
    const sink = this.#sinks.get(message.stream);
    if (sink) {
      if (!sink.message(message)) this.#port.refused(`an unexpected ${message.type}`);
    } else if (!this.#wasOpened(message.stream))
      this.#port.refused('a message for a stream that was not opened');
  }

  /** The connection has closed. Returns the sinks of its open streams. */
  detach(): StreamSink[] {
    const sinks = [...this.#sinks.values()];
    this.#sinks.clear();
    return sinks;
  }

  #wasOpened(stream: number): boolean {
    return stream >= STREAM_NUMBERS && (stream - this.#first) % STREAM_NUMBERS < this.#opened;
  }
}
