/** One channel of an agent: to output, or to a target in a container. */
import type { ChannelUp } from '../../shared/protocol/up.ts';
import type { Credit } from '../../shared/streams/credit.ts';
import type { Target } from '../engine/streams/target.ts';

/** What every channel needs. */
export interface ChannelOptions {
  channel: number;
  /** Bytes that may be sent. */
  credit: Credit;
  /** Nothing will be written. */
  ended?: boolean | undefined;
  send(message: ChannelUp): void;
  /** Resolves when the chunk has left this process, so that each channel has at most one in memory. */
  sendBytes(chunk: Uint8Array): Promise<void>;
}

export interface Channel {
  /** Resolves when the channel is over. Rejects with an Error for people if it breaks off. */
  run(): Promise<void>;
  /** Whether it was connected. */
  readonly isOpened: boolean;
  /** Takes bytes of the control plane. False if they exceed the credit, or follow the end. */
  receive(bytes: Uint8Array): boolean;
  endInput(): void;
  readonly target?: Target | undefined;
  /** Ends the channel without a message. */
  destroy(): void;
}
