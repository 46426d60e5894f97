/**
 * Joins a client's WebSocket and a channel of an agent (P250 to P257, H680 to H686). What is in transit in
 * one direction never exceeds the window, whatever the two sides send or leave unread.
 */

import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { ChannelUp } from '../../../shared/protocol/up.ts';
import type { ClientMessage, ServerMessage } from '../../../shared/streams/client-messages.ts';
import {
  CHUNK_BYTES,
  largestWindow,
  MAX_WINDOW_BYTES,
  type StreamTarget,
} from '../../../shared/streams/targets.ts';
import { Window } from '../../../shared/streams/window.ts';
import type { StreamRules } from '../../core/model/stream-rules.ts';
import type { ChannelPort, ChannelSink } from '../connections/open-channels.ts';
import type { Clock } from '../ports.ts';
import type { ClientEnd, FromClient } from './client-end.ts';
import { StreamWatch } from './stream-watch.ts';

export interface StreamRelayOptions {
  client: ClientEnd;
  clock: Pick<Clock, 'after' | 'monotonicMs'>;
  times: Pick<StreamRules, 'idleMs' | 'totalMs'>;
  /** Called once, when the stream is over. */
  over(): void;
}

/**
 * A mark follows this time after the stream was opened, again and again: proxies close connections that are
 * quiet.
 */
export const MARK_MS = 25_000;

export const closing = { complete: 1000, reset: 1001, violation: 1008 } as const;

export class StreamRelay implements ChannelSink {
  readonly #options: StreamRelayOptions;
  #agent: { channels: ChannelPort; channel: number } | undefined;
  #isOver = false;
  #isOpened = false;
  #window: Window | undefined;
  /** Bytes that the client may still send. */
  #clientMay = 0;
  /** Bytes to the client since the last mark, and those before each mark that it has not returned. */
  #unmarked = 0;
  readonly #marks = new Map<string, number>();
  #hasClientEnded = false;
  #hasAgentEnded = false;
  readonly #watch: StreamWatch;
  #cancelReminder = () => {};

  constructor(options: StreamRelayOptions) {
    this.#options = options;
    this.#watch = new StreamWatch(options.clock, options.times, (reason) => this.#end(reason));
  }

  /** Opens the channel at the agent. */
  begin(channels: ChannelPort, key: ServiceKey, target: StreamTarget): void {
    // Before the channel, whose connection may be found closed.
    this.#watch.begin();
    this.#window = new Window(channels.link, { mostBytes: largestWindow(target) });
    const channel = channels.open(key, target, this.#window.credit, this);
    this.#agent = { channels, channel };
  }

  /** A frame of the client. */
  fromClient(frame: FromClient): void {
    if (this.#isOver) return;
    if (!this.#isOpened) this.#end('Wait for "opened" before you send more.', closing.violation);
    else if (frame instanceof Uint8Array) this.#toAgent(frame);
    else if (frame) this.#obey(frame);
    else this.#end('A text frame does not match the protocol of streams.', closing.violation);
  }

  /** Whether the client should send no more for now. */
  get isAgentBehind(): boolean {
    return this.#agent?.channels.isBehind ?? false;
  }

  /** The client has left. */
  clientClosed(): void {
    this.#finish(false);
  }

  chunk(bytes: Uint8Array): boolean {
    if (!this.#isOpened || this.#hasAgentEnded || !this.#window?.receive(bytes.length)) return false;
    this.#watch.carried();
    this.#options.client.send(bytes);
    this.#unmarked += bytes.length;
    if (this.#unmarked >= Math.min(CHUNK_BYTES, this.#window.bytes / 4)) this.#mark();
    return true;
  }

  message(message: ChannelUp): boolean {
    switch (message.type) {
      case 'channel.opened':
        if (this.#isOpened || message.credit === undefined) return false;
        this.#isOpened = true;
        this.#clientMay = message.credit;
        this.#remind();
        this.#tell({ type: 'opened', credit: message.credit });
        return true;
      case 'channel.credit':
        if (this.#clientMay + message.bytes > MAX_WINDOW_BYTES) return false;
        this.#clientMay += message.bytes;
        this.#tell({ type: 'credit', bytes: message.bytes });
        return true;
      case 'channel.end':
        if (!this.#isOpened || this.#hasAgentEnded) return false;
        this.#agentEnded(message.exitCode);
        return true;
      case 'channel.reset':
        this.#end(message.message, closing.reset, true);
        return true;
    }
  }

  detached(): void {
    this.#end(
      'The host has lost its connection: its agent has stopped, or does not reach the control plane.',
      closing.reset,
      true,
    );
  }

  /** Ends the stream for this reason. */
  end(reason: string): void {
    this.#end(reason);
  }

  #end(reason: string, code: number = closing.reset, isKnown = false): void {
    if (this.#isOver) return;
    this.#tell({ type: 'reset', message: reason });
    this.#finish(isKnown);
    this.#options.client.close(code, shortReason(reason));
  }

  #agentEnded(exitCode: number | undefined): void {
    this.#hasAgentEnded = true;
    this.#tell({ type: 'end', ...(exitCode !== undefined && { exit_code: exitCode }) });
    if (exitCode !== undefined || this.#hasClientEnded) this.#complete();
  }

  #complete(): void {
    this.#finish(true);
    this.#options.client.close(closing.complete, '');
  }

  #obey(message: ClientMessage): void {
    if (message.type === 'read') this.#read(message.mark);
    if (message.type === 'read' || !this.#agent) return;
    const { channels, channel } = this.#agent;
    if (message.type === 'end') {
      if (this.#hasClientEnded) return;
      this.#hasClientEnded = true;
      channels.send({ type: 'channel.end', channel });
      if (this.#hasAgentEnded) this.#complete();
    } else if (message.type === 'resize') channels.send({ ...message, type: 'channel.resize', channel });
    else channels.send({ ...message, type: 'channel.signal', channel });
  }

  #toAgent(bytes: Uint8Array): void {
    if (!this.#agent || bytes.length === 0) return;
    if (bytes.length > this.#clientMay || this.#hasClientEnded) {
      this.#end('More bytes were sent than the stream has credit for.', closing.violation);
      return;
    }
    this.#clientMay -= bytes.length;
    this.#watch.carried();
    const { channels, channel } = this.#agent;
    for (let from = 0; from < bytes.length; from += CHUNK_BYTES)
      channels.sendBytes(channel, bytes.subarray(from, from + CHUNK_BYTES));
  }

  /** A client that has not read what came before can't return the mark. */
  #mark(): void {
    const mark = crypto.randomUUID();
    this.#marks.set(mark, this.#unmarked);
    this.#unmarked = 0;
    this.#tell({ type: 'mark', mark });
  }

  /** Has the client send something. A mark that it still has is repeated, so that few are in memory. */
  #remind(): void {
    this.#cancelReminder = this.#options.clock.after(MARK_MS, () => {
      const last = [...this.#marks.keys()].at(-1);
      if (last === undefined) this.#mark();
      else this.#tell({ type: 'mark', mark: last });
      this.#remind();
    });
  }

  #read(mark: string): void {
    const read = this.#marks.get(mark);
    if (read === undefined || !this.#agent) return;
    this.#marks.delete(mark);
    const bytes = this.#window?.take(read) ?? 0;
    const { channels, channel } = this.#agent;
    if (bytes > 0) channels.send({ type: 'channel.credit', channel, bytes });
  }

  #tell(message: ServerMessage): void {
    if (!this.#isOver) this.#options.client.tell(message);
  }

  #finish(isKnown: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#watch.stop();
    this.#cancelReminder();
    this.#agent?.channels.close(this.#agent.channel, isKnown, this.#window?.credit);
    this.#window?.close();
    this.#options.over();
  }
}

/** The reason of a close has at most 123 bytes. */
export const shortReason = (reason: string): string => reason.replace(/[^ -~]/g, '?').slice(0, 120);
