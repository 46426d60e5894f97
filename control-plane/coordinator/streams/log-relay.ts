/**
 * One subscriber of one service's output: the start that it reads, the host of that start, and the
 * outstanding credit. A stalled subscriber costs at most one window of memory (P9). The relay continues after
 * a reconnect of the agent (P10).
 */
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { ChannelUp } from '../../../shared/protocol/up.ts';
import {
  decodeFrame,
  encodeNote,
  heartbeat,
  isFrameOf,
  type LogNote,
  type LogPosition,
} from '../../../shared/streams/log-frames.ts';
import {
  type LogFormat,
  type LogPart,
  MAX_WINDOW_BYTES,
  WINDOW_BYTES,
} from '../../../shared/streams/targets.ts';
import type { ChannelPort } from '../connections/open-channels.ts';
import { AgentChannel, type ChannelUser } from './agent-channel.ts';

const LINE_FEED = 10;

/** Where the output of the service is. */
export interface LogSource {
  /** Number of the last start; 0: none. */
  generation: number;
  /** The channels of the host of that start; undefined while it is not connected. */
  channels: ChannelPort | undefined;
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
  /** A part that is not followed ends where `source` is final; the last lines are those of the last start. */
  part?: LogPart;
}

export class LogRelay implements ChannelUser {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #service: number;
  readonly #format: LogFormat;
  readonly #source: () => LogSource;
  readonly #done: () => void;
  /** Whether the subscriber gets frames (shared/streams/log-frames.ts), and can resume on another stream. */
  readonly #framed: boolean;
  readonly #part: LogPart;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** To the start that is read. */
  #channel: AgentChannel | undefined;
  #isMidLine = false;
  /** Whether the start before has left its last line without an end. */
  #isLineCut = false;
  /** Whether a chunk or the end of a start has arrived. */
  #hasBegun = false;
  /** Whether the subscriber has been informed that the host is lost. */
  #isAway = false;
  #generation = 1;
  #offset = 0;

  constructor({ service, format, source, done, from, part = {} }: LogRelayOptions) {
    this.#part = part;
    this.#service = service;
    this.#format = format;
    this.#source = source;
    this.#done = done;
    this.#framed = from !== undefined;
    if (from) ({ generation: this.#generation, offset: this.#offset } = from);
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => (this.#channel ? this.#grant() : this.update()),
        cancel: () => this.#unsubscribe(),
      },
      // The window decides what comes.
      { highWaterMark: MAX_WINDOW_BYTES, size: ({ byteLength }) => byteLength },
    );
  }

  /** Opens, continues or ends the log after a change of the service or its host. */
  update(): void {
    if (!this.#controller) return;
    // Called even while an earlier start is read: the source returns its last known location once the
    // execution has ended, and must not miss a start.
    const { generation, channels, removed, away, final } = this.#source();
    if (this.#channel) return;
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
      if (!this.#controller || this.#channel) return;
    }
    if (this.#generation <= generation) {
      if (channels) this.#open(channels);
      else if (away !== undefined && this.#hasRoom) this.#reportAway(away);
    } else if (final) {
      const controller = this.#controller;
      this.#finish();
      controller.close();
    }
  }

  /** Shows that the stream is alive. On workerd, only output reveals that its reader has left. */
  heartbeat(): void {
    if (this.#framed && this.#hasRoom) this.#controller?.enqueue(heartbeat());
  }

  /** Ends the stream after a line, which says why more is missing. */
  endWith(line: string): void {
    const controller = this.#controller;
    this.#unsubscribe();
    if (!controller) return;
    controller.enqueue(new TextEncoder().encode(`${this.#isMidLine ? '\n' : ''}${line}\n`));
    controller.close();
  }

  /** Aborts the stream, so that its reader does not take the output so far for the whole. */
  abort(cause: Error): void {
    const controller = this.#controller;
    this.#unsubscribe();
    controller?.error(cause);
  }

  chunk(bytes: Uint8Array): boolean {
    if (!this.#controller || !isFrameOf(this.#key, bytes)) return false;
    const { payload, position } = decodeFrame(bytes);
    this.#hasBegun = true;
    this.#offset = position.offset;
    if (payload.byteLength === 0) return true;
    // Each line begins with its time, also the first one of a start.
    if (this.#isLineCut) this.#controller.enqueue(new Uint8Array([LINE_FEED]));
    this.#isLineCut = false;
    this.#isMidLine = payload.at(-1) !== LINE_FEED;
    // A copy: a piece of a larger buffer would keep all of that in memory.
    this.#controller.enqueue(new Uint8Array(this.#framed ? bytes : payload));
    return true;
  }

  message(message: ChannelUp): void {
    if (message.type === 'channel.end') this.#ended(message.missing === true);
    else if (message.type === 'channel.reset') this.#abortWith(message.message);
  }

  #ended(isMissing: boolean): void {
    this.#leave();
    // The service has moved to another host, or its log is gone. To continue would hide the gap; a framed
    // stream receives a note instead.
    if (isMissing && this.#offset > 0 && !this.#framed) {
      this.#abortWith('the rest of the log is no longer available');
      return;
    }
    this.#hasBegun = true;
    const ended = this.#generation;
    this.#isLineCut ||= this.#isMidLine && !this.#framed && this.#format === 'timestamps';
    this.#generation += 1;
    this.#offset = 0;
    if (isMissing) this.#note({ missing: ended });
    this.update();
  }

  detached(): void {
    this.#leave();
    this.update();
  }

  over(): void {}

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

  #open(channels: ChannelPort): void {
    const { tail, ...rest } = this.#part;
    const part = this.#isTail ? { ...rest, tail } : rest;
    const target = { kind: 'output', offset: this.#offset, format: this.#format, ...part } as const;
    const channel = new AgentChannel(this);
    // It waits for the subscriber to read; otherwise each reconnect would cost memory (STREAM-6).
    if (!channel.begin(channels, this.#key, target, undefined, this.#unread)) return;
    this.#channel = channel;
    this.#isAway = false;
  }

  /** The start that is read. */
  get #key(): ServiceKey {
    return { service: this.#service, generation: this.#generation };
  }

  /** Whether the last lines are still to be found. */
  get #isTail(): boolean {
    return this.#part.tail !== undefined && !this.#hasBegun;
  }

  /** Bytes that the subscriber has not read. */
  get #unread(): number {
    return MAX_WINDOW_BYTES - (this.#controller?.desiredSize ?? 0);
  }

  /** Whether there is room for what no agent has sent. */
  get #hasRoom(): boolean {
    return this.#unread < WINDOW_BYTES;
  }

  #grant(): void {
    this.#channel?.take(Math.max(0, this.#channel.held - this.#unread));
  }

  #note(note: LogNote): void {
    if (this.#framed) this.#controller?.enqueue(encodeNote(this.#service, note));
  }

  #abortWith(message: string): void {
    this.abort(new Error(message));
  }

  #unsubscribe(): void {
    this.#leave();
    this.#finish();
  }

  #leave(): void {
    const channel = this.#channel;
    this.#channel = undefined;
    channel?.close();
  }

  #finish(): void {
    if (!this.#controller) return;
    this.#controller = undefined;
    this.#leave();
    this.#done();
  }
}
