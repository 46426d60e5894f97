/**
 * Joins a client's WebSocket and a channel of an agent (P250 to P257, H680 to H686). What is in transit in
 * one direction never exceeds the window, whatever the two sides send or leave unread.
 */

import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { ChannelUp } from '../../../shared/protocol/up.ts';
import type { ClientMessage, ServerMessage } from '../../../shared/streams/client-messages.ts';
import { CHUNK_BYTES, type StreamTarget } from '../../../shared/streams/targets.ts';
import type { StreamRules } from '../../core/model/stream-rules.ts';
import type { ChannelPort } from '../connections/open-channels.ts';
import type { Clock } from '../ports.ts';
import { AgentChannel, type ChannelUser } from './agent-channel.ts';
import type { ClientEnd, ClientLink, FromClient } from './client-end.ts';
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

export class StreamRelay implements ChannelUser, ClientLink {
  readonly #options: StreamRelayOptions;
  readonly #channel: AgentChannel;
  /** Bytes to the client since the last mark, and those before each mark that it has not returned. */
  #unmarked = 0;
  readonly #marks = new Map<string, number>();
  /** How the client's end is closed; undefined once the client has left. */
  #closing: { code: number; reason: string } | undefined = { code: closing.complete, reason: '' };
  #cancelReminder = () => {};

  constructor(options: StreamRelayOptions) {
    this.#options = options;
    const watch = new StreamWatch(options.clock, options.times, (reason) => this.close(reason));
    this.#channel = new AgentChannel(this, watch);
  }

  /** Opens the channel at the agent. */
  begin(channels: ChannelPort, key: ServiceKey, target: StreamTarget): void {
    this.#channel.begin(channels, key, target);
  }

  receive(frame: FromClient): void {
    if (this.#channel.isOver) return;
    if (!this.#channel.isOpened) this.close('Wait for "opened" before you send more.', closing.violation);
    else if (frame instanceof Uint8Array) this.#toAgent(frame);
    else if (frame) this.#obey(frame);
    else this.close('A text frame does not match the protocol of streams.', closing.violation);
  }

  get isAgentBehind(): boolean {
    return this.#channel.isAgentBehind;
  }

  /** The client has left. */
  closed(): void {
    this.#closing = undefined;
    this.#channel.close();
  }

  chunk(bytes: Uint8Array): boolean {
    this.#options.client.send(bytes);
    this.#unmarked += bytes.length;
    if (this.#unmarked >= Math.min(CHUNK_BYTES, this.#channel.windowBytes / 4)) this.#mark();
    return true;
  }

  message(message: ChannelUp): void {
    switch (message.type) {
      case 'channel.opened':
        this.#remind();
        this.#tell({ type: 'opened', credit: message.credit ?? 0 });
        break;
      case 'channel.credit':
        this.#tell({ type: 'credit', bytes: message.bytes });
        break;
      case 'channel.end':
        this.#tell({
          type: 'end',
          ...(message.exitCode !== undefined && { exit_code: message.exitCode }),
        });
        break;
      case 'channel.reset':
        this.close(message.message);
    }
  }

  detached(): void {
    this.close(
      'The host has lost its connection: its agent has stopped, or does not reach the control plane.',
    );
  }

  over(): void {
    this.#cancelReminder();
    this.#options.over();
    if (this.#closing) this.#options.client.close(this.#closing.code, this.#closing.reason);
  }

  /** Ends the stream for this reason. */
  close(reason: string, code: number = closing.reset): void {
    if (this.#channel.isOver) return;
    this.#tell({ type: 'reset', message: reason });
    this.#closing = { code, reason: shortReason(reason) };
    this.#channel.close();
  }

  #obey(message: ClientMessage): void {
    if (message.type === 'read') this.#read(message.mark);
    else if (message.type === 'end') this.#channel.end();
    else if (message.type === 'resize') this.#channel.resize(message);
    else this.#channel.signal(message.signal);
  }

  #toAgent(bytes: Uint8Array): void {
    if (bytes.length > this.#channel.mayWrite)
      this.close('More bytes were sent than the stream has credit for.', closing.violation);
    else if (bytes.length > 0) this.#channel.write(bytes);
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
    if (read === undefined) return;
    this.#marks.delete(mark);
    this.#channel.take(read);
  }

  #tell(message: ServerMessage): void {
    if (!this.#channel.isOver) this.#options.client.tell(message);
  }
}

/** The reason of a close has at most 123 bytes. */
export const shortReason = (reason: string): string => reason.replace(/[^ -~]/g, '?').slice(0, 120);
