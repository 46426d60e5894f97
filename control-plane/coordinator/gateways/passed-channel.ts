/**
 * A channel whose reader is in another object: the gateway passes its bytes on, untouched. The reader grants
 * the credit, so that nothing waits here but what the reader has allowed (P9).
 */
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { ChannelDown } from '../../../shared/protocol/down.ts';
import type { ChannelUp } from '../../../shared/protocol/up.ts';
import { isFrameOf } from '../../../shared/streams/log-frames.ts';
import { type ChannelTarget, WINDOW_BYTES } from '../../../shared/streams/targets.ts';
import type { ObjectSocket } from '../connections/object-socket.ts';
import type { ChannelPort, ChannelSink } from '../connections/open-channels.ts';
import type { GatewayAddress } from '../connections/session-peer.ts';

/** What a reader asks of a gateway. Can be sent as JSON. */
export interface ChannelRequest {
  at: Pick<GatewayAddress, 'connection' | 'sent'>;
  key: ServiceKey;
  target: ChannelTarget;
  credit: number;
  ended?: true | undefined;
}

export class PassedChannel implements ChannelSink {
  readonly #channels: ChannelPort;
  readonly #socket: ObjectSocket;
  readonly #channel: number;
  readonly #key: ServiceKey;
  readonly #isOutput: boolean;
  #isOver = false;
  #isOpened = false;
  /** The memory that the channel has of its connection's: whatever there is, room for the longest line. */
  #memory = WINDOW_BYTES;
  /** How much of it the reader has asked for. */
  #window: number;
  /** Bytes that the agent may still send, and those that the reader got and has not granted anew. */
  #credit: number;
  #passed = 0;
  /** Bytes that the agent got and has not granted anew. */
  #written = 0;
  #hasInputEnded = false;
  #hasOutputEnded = false;

  constructor(channels: ChannelPort, { key, target, credit, ended }: ChannelRequest, socket: ObjectSocket) {
    this.#channels = channels;
    this.#socket = socket;
    this.#key = key;
    this.#isOutput = target.kind === 'output';
    channels.link.memory.use(this.#memory);
    this.#window = Math.min(this.#memory, credit);
    this.#credit = this.#window;
    this.#channel = channels.open(key, target, this.#credit, this, ended);
  }

  chunk(bytes: Uint8Array): boolean {
    if (bytes.length > this.#credit || this.#hasOutputEnded) return false;
    if (this.#isOutput && !isFrameOf(this.#key, bytes)) return false;
    this.#credit -= bytes.length;
    this.#passed += bytes.length;
    this.#socket.send(bytes);
    return true;
  }

  message(message: ChannelUp): boolean {
    if (!this.#isExpected(message)) return false;
    this.#socket.send(JSON.stringify(message));
    if (this.#isLast(message)) this.#end(true);
    return true;
  }

  detached(): void {
    this.#end(true);
    this.#socket.close();
  }

  /** From the reader. */
  receive(data: string | Uint8Array): void {
    if (typeof data !== 'string') {
      this.#written += data.length;
      this.#channels.sendBytes(this.#channel, data);
      return;
    }
    const message: ChannelDown = { ...JSON.parse(data), channel: this.#channel };
    if (message.type === 'channel.credit') this.#grant(message.bytes);
    else this.#channels.send(message);
    if (message.type === 'channel.end') this.#hasInputEnded = true;
  }

  /** The reader has left. */
  closed(): void {
    this.#end(false);
  }

  /**
   * What is more than the reader has got makes its window larger, as far as there is memory. The rest is in
   * the hands of the reader, who takes it for credit that is unused.
   */
  #grant(granted: number): void {
    const again = Math.min(granted, this.#passed);
    this.#passed -= again;
    const wanted = this.#window + granted - again;
    this.#memory += this.#channels.link.memory.take(wanted - this.#memory);
    const more = Math.min(wanted, this.#memory) - this.#window;
    this.#window += more;
    const bytes = again + more;
    if (bytes === 0) return;
    this.#credit += bytes;
    this.#channels.send({ type: 'channel.credit', channel: this.#channel, bytes });
  }

  #isExpected(message: ChannelUp): boolean {
    if (message.type === 'channel.opened') {
      const isFirst = !this.#isOpened;
      this.#isOpened = true;
      return isFirst;
    }
    if (message.type === 'channel.credit') {
      this.#written -= message.bytes;
      return this.#written >= 0;
    }
    if (message.type === 'channel.reset') return true;
    const isFirst = !this.#hasOutputEnded;
    this.#hasOutputEnded = true;
    return isFirst;
  }

  #end(isKnown: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#channels.close(this.#channel, isKnown, this.#credit);
    this.#channels.link.memory.use(-this.#memory);
  }

  #isLast(message: ChannelUp): boolean {
    if (message.type === 'channel.end')
      return this.#isOutput || this.#hasInputEnded || message.exitCode !== undefined;
    return message.type === 'channel.reset';
  }
}
