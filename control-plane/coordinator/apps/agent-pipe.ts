/**
 * A channel of an agent as a pipe of bytes in both directions. Reads and writes wait for credit (P251), so
 * that each direction has at most one window in memory, whatever its reader leaves unread.
 */

import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { ChannelUp } from '../../../shared/protocol/up.ts';
import { CHUNK_BYTES, MAX_WINDOW_BYTES, type StreamTarget } from '../../../shared/streams/targets.ts';
import { Window } from '../../../shared/streams/window.ts';
import type { StreamRules } from '../../core/model/stream-rules.ts';
import type { ChannelPort, ChannelSink } from '../connections/open-channels.ts';
import type { Clock } from '../ports.ts';
import { StreamWatch } from '../streams/stream-watch.ts';

export interface AgentPipeOptions {
  clock: Pick<Clock, 'after' | 'monotonicMs'>;
  times: Pick<StreamRules, 'idleMs' | 'totalMs'>;
  /** Called once, when the pipe is over. */
  over(): void;
}

/** Why a pipe broke, for people. `refused`: the agent never opened it. */
export class BrokenPipe extends Error {
  override name = 'BrokenPipe';
  readonly refused: boolean;

  constructor(message: string, refused = false) {
    super(message);
    this.refused = refused;
  }
}

export class AgentPipe implements ChannelSink {
  readonly #options: AgentPipeOptions;
  #agent: { channels: ChannelPort; channel: number } | undefined;
  readonly #chunks: Uint8Array[] = [];
  #window: Window | undefined;
  #mayWrite = 0;
  #isOpened = false;
  #hasAgentEnded = false;
  #hasEnded = false;
  #isOver = false;
  #broken: BrokenPipe | undefined;
  #change = Promise.withResolvers<void>();
  readonly #watch: StreamWatch;

  constructor(options: AgentPipeOptions) {
    this.#options = options;
    this.#watch = new StreamWatch(options.clock, options.times, (reason) => this.close(reason));
  }

  /** `ended`: nothing will be written. The agent then sends what it has without saying that it is open. */
  begin(channels: ChannelPort, key: ServiceKey, target: StreamTarget, ended?: true): void {
    this.#isOpened = this.#hasEnded = ended === true;
    // Before the channel, whose connection may be found closed.
    this.#watch.begin();
    this.#window = new Window(channels.link);
    const channel = channels.open(key, target, this.#window.credit, this, ended);
    this.#agent = { channels, channel };
  }

  /** Resolves once the agent has opened it. Throws BrokenPipe. */
  async opened(): Promise<void> {
    while (!this.#isOpened) await this.#changed();
  }

  /** Whether all bytes have arrived and were read. */
  get isDrained(): boolean {
    return this.#hasAgentEnded && this.#chunks.length === 0;
  }

  /** Resolves to the next bytes, and to undefined after the last ones. Throws BrokenPipe. */
  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk) {
        this.#grant(chunk.length);
        return chunk;
      }
      if (this.#hasAgentEnded) return undefined;
      await this.#changed();
    }
  }

  /** Resolves once all bytes are on their way. Throws BrokenPipe. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let from = 0; from < bytes.length; ) {
      const room = Math.min(this.#mayWrite, CHUNK_BYTES);
      if (room === 0 || !this.#agent || this.#isOver) {
        await this.#changed();
        continue;
      }
      const payload = bytes.subarray(from, from + room);
      from += payload.length;
      this.#mayWrite -= payload.length;
      this.#watch.carried();
      const { channels, channel } = this.#agent;
      channels.sendBytes(channel, payload);
    }
  }

  /** No more bytes follow. */
  end(): void {
    if (this.#hasEnded || this.#isOver || !this.#agent) return;
    this.#hasEnded = true;
    const { channels, channel } = this.#agent;
    channels.send({ type: 'channel.end', channel });
    if (this.#hasAgentEnded) this.#finish(true);
  }

  /** Gives the stream up, if it is not over. What has arrived can't be read any more. */
  close(reason = 'The request was given up.'): void {
    this.#chunks.length = 0;
    if (this.#isOver) return;
    this.#break(new BrokenPipe(reason), false);
  }

  chunk(bytes: Uint8Array): boolean {
    if (!this.#isOpened || this.#hasAgentEnded || !this.#window?.receive(bytes.length)) return false;
    this.#watch.carried();
    this.#chunks.push(bytes);
    this.#wake();
    return true;
  }

  message(message: ChannelUp): boolean {
    switch (message.type) {
      case 'channel.opened':
        if (this.#isOpened || message.credit === undefined) return false;
        this.#isOpened = true;
        this.#mayWrite = message.credit;
        break;
      case 'channel.credit':
        if (!this.#isOpened || this.#mayWrite + message.bytes > MAX_WINDOW_BYTES) return false;
        this.#mayWrite += message.bytes;
        break;
      case 'channel.end':
        if (!this.#isOpened || this.#hasAgentEnded) return false;
        this.#hasAgentEnded = true;
        if (this.#hasEnded) this.#finish(true);
        break;
      case 'channel.reset':
        this.#break(new BrokenPipe(message.message, message.refused), true);
    }
    this.#wake();
    return true;
  }

  detached(): void {
    this.#break(new BrokenPipe('The host has lost its connection.'), true);
  }

  #grant(read: number): void {
    if (this.#hasAgentEnded || this.#isOver || !this.#agent) return;
    const bytes = this.#window?.take(read) ?? 0;
    const { channels, channel } = this.#agent;
    if (bytes > 0) channels.send({ type: 'channel.credit', channel, bytes });
  }

  /** Throws if nothing can change any more. */
  async #changed(): Promise<void> {
    if (this.#broken) throw this.#broken;
    if (this.#isOver) throw new BrokenPipe('The stream is over.');
    await this.#change.promise;
  }

  #wake(): void {
    const { resolve } = this.#change;
    this.#change = Promise.withResolvers<void>();
    resolve();
  }

  #break(error: BrokenPipe, isKnown: boolean): void {
    if (this.#isOver) return;
    this.#broken = error;
    this.#finish(isKnown);
  }

  #finish(isKnown: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#watch.stop();
    this.#agent?.channels.close(this.#agent.channel, isKnown, this.#window?.credit);
    this.#window?.close();
    this.#wake();
    this.#options.over();
  }
}
