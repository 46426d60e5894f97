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
}

export class PassedChannel implements ChannelSink {
  readonly #channels: ChannelPort;
  readonly #socket: ObjectSocket;
  readonly #channel: number;
  readonly #key: ServiceKey;
  readonly #isOutput: boolean;
  readonly #window: number;
  readonly #over: () => void;
  #isOver = false;
  #isOpened = false;
  /** Bytes that the agent may still send, and those that it has not granted again since it got them. */
  #credit: number;
  #written = 0;
  #hasInputEnded = false;
  #hasOutputEnded = false;

  /**
   * `over`: called once, when the channel is over. `window`: the most that the agent may send at once,
   * whatever the reader grants.
   */
  constructor(
    channels: ChannelPort,
    { key, target, credit }: ChannelRequest,
    socket: ObjectSocket,
    over: () => void,
    window = WINDOW_BYTES,
  ) {
    this.#over = over;
    this.#channels = channels;
    this.#socket = socket;
    this.#key = key;
    this.#isOutput = target.kind === 'output';
    this.#window = window;
    this.#credit = Math.min(window, credit);
    this.#channel = channels.open(key, target, this.#credit, this);
  }

  chunk(bytes: Uint8Array): boolean {
    if (bytes.length > this.#credit || this.#hasOutputEnded) return false;
    if (this.#isOutput && !isFrameOf(this.#key, bytes)) return false;
    this.#credit -= bytes.length;
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

  /** What is beyond the window stays in the hands of the reader, who takes it for credit that is unused. */
  #grant(granted: number): void {
    const bytes = Math.min(granted, this.#window - this.#credit);
    if (bytes <= 0) return;
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
    this.#over();
  }

  #isLast(message: ChannelUp): boolean {
    if (message.type === 'channel.end')
      return this.#isOutput || this.#hasInputEnded || message.exitCode !== undefined;
    return message.type === 'channel.reset';
  }
}
