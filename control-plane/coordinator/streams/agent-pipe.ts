/**
 * A channel of an agent as a pipe of bytes in both directions. Reads and writes wait for credit (P251), so
 * that each direction has at most one window in memory, whatever its reader leaves unread.
 */

import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { ChannelUp } from '../../../shared/protocol/up.ts';
import type { StreamTarget } from '../../../shared/streams/targets.ts';
import type { StreamRules } from '../../core/model/stream-rules.ts';
import type { ChannelPort } from '../connections/open-channels.ts';
import type { Clock } from '../ports.ts';
import { AgentChannel, type ChannelUser } from './agent-channel.ts';
import { StreamWatch } from './stream-watch.ts';

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

export class AgentPipe implements ChannelUser {
  readonly #options: AgentPipeOptions;
  readonly #channel: AgentChannel;
  readonly #chunks: Uint8Array[] = [];
  #exitCode: number | undefined;
  /** Bytes that had arrived were given up. */
  #isCut = false;
  #broken: BrokenPipe | undefined;
  /** Set while somebody waits. */
  #change: PromiseWithResolvers<void> | undefined;

  constructor(options: AgentPipeOptions) {
    this.#options = options;
    const watch = new StreamWatch(options.clock, options.times, (reason) => this.close(reason));
    this.#channel = new AgentChannel(this, watch);
  }

  /** `ended`: nothing will be written. The agent then sends what it has without saying that it is open. */
  begin(channels: ChannelPort, key: ServiceKey, target: StreamTarget, ended?: true): void {
    this.#channel.begin(channels, key, target, ended);
  }

  /** With which the command at the other end has ended. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /** Resolves once the agent has opened it. Throws BrokenPipe. */
  async opened(): Promise<void> {
    while (!this.#channel.isOpened) await this.#changed();
  }

  /** Resolves once there are bytes to read, or no more will come. Throws BrokenPipe. */
  async begun(): Promise<void> {
    while (this.#chunks.length === 0 && !this.#channel.hasAgentEnded) await this.#changed();
  }

  /** Whether all bytes have arrived and were read. */
  get isDrained(): boolean {
    return this.#channel.hasAgentEnded && this.#chunks.length === 0 && !this.#isCut;
  }

  /** Resolves to the next bytes, and to undefined after the last ones. Throws BrokenPipe. */
  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk) {
        this.#channel.take(chunk.length);
        return chunk;
      }
      if (this.isDrained) return undefined;
      await this.#changed();
    }
  }

  /** Resolves once all bytes are on their way. Throws BrokenPipe. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let from = 0; from < bytes.length; ) {
      const part = bytes.subarray(from, from + this.#channel.mayWrite);
      if (part.length === 0) await this.#changed();
      else this.#channel.write(part);
      from += part.length;
    }
  }

  /** No more bytes follow. */
  end(): void {
    this.#channel.end();
  }

  /** Gives the stream up, if it is not over. What has arrived can't be read any more. */
  close(reason = 'The request was given up.'): void {
    this.#isCut ||= this.#chunks.length > 0;
    this.#chunks.length = 0;
    if (this.#channel.isOver && !this.#isCut) return;
    this.#broken ??= new BrokenPipe(reason);
    this.#channel.close();
  }

  chunk(bytes: Uint8Array): boolean {
    this.#chunks.push(bytes);
    this.#wake();
    return true;
  }

  message(message: ChannelUp): void {
    if (message.type === 'channel.reset') this.#broken = new BrokenPipe(message.message, message.refused);
    else if (message.type === 'channel.end') this.#exitCode = message.exitCode;
    this.#wake();
  }

  detached(): void {
    this.#broken = new BrokenPipe('The host has lost its connection.');
  }

  over(): void {
    this.#wake();
    this.#options.over();
  }

  /** Throws if nothing can change any more. */
  #changed(): Promise<void> {
    if (this.#broken) throw this.#broken;
    if (this.#channel.isOver) throw new BrokenPipe('The stream is over.');
    this.#change ??= Promise.withResolvers<void>();
    return this.#change.promise;
  }

  #wake(): void {
    this.#change?.resolve();
    this.#change = undefined;
  }
}
