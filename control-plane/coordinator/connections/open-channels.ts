/**
 * Open channels: those that one connection of an agent carries, and what may still arrive of those that are
 * over (P250 to P253). Readers open and close channels at any time, so that the host must not pay for the
 * messages that they cause as for its own (P152). Never decides who may open one.
 */
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import { type Chunk, encodeChunk } from '../../../shared/protocol/codec.ts';
import type { ChannelDown, Down } from '../../../shared/protocol/down.ts';
import type { ChannelUp } from '../../../shared/protocol/up.ts';
import { FRAME_HEADER_BYTES } from '../../../shared/streams/log-frames.ts';
import {
  type ChannelTarget,
  MAX_CHANNEL_NUMBER,
  MAX_CHANNELS,
  WINDOW_BYTES,
} from '../../../shared/streams/targets.ts';
import { CONNECTION_WINDOW_BYTES, type WindowLink, WindowMemory } from '../../../shared/streams/window.ts';
import { collectMs } from '../../core/streams/log-collection.ts';
import type { Traffic } from './traffic.ts';

/** Receives what the agent sends on one channel. */
export interface ChannelSink {
  /** Returns false if the bytes exceed the credit of the channel, or are not valid. */
  chunk(bytes: Uint8Array): boolean;
  /** Returns false if the message is not allowed at this point. */
  message(message: ChannelUp): boolean;
  /** The connection of the agent has closed. */
  detached(): void;
}

/** Where channels are opened: a connection in this process, or one at a gateway. */
export interface ChannelPort {
  /** Opens a channel and returns its number. `ended`: nothing will be written. */
  open(key: ServiceKey, target: ChannelTarget, credit: number, sink: ChannelSink, ended?: true): number;
  /** Sends to the agent, unless the channel is over. */
  send(message: ChannelDown): void;
  /** Sends the payload of one chunk, unless the channel is over. */
  sendBytes(channel: number, payload: Uint8Array): void;
  /** The channel is over, with as much of its credit unused. Unless the agent knows, it must be informed. */
  close(channel: number, isKnown: boolean, creditBytes?: number): void;
  /** Whether clients should send no more for now. */
  readonly isBehind: boolean;
  /** Open channels to output, and all others. */
  readonly outputs: number;
  readonly streams: number;
  /** For the windows of its channels. */
  readonly link: WindowLink;
}

/** What channels need of the agent's connection. */
export interface ConnectionPort {
  sendText(message: Down): void;
  sendBytes(chunk: Uint8Array): void;
  /** Whether the agent leaves too much unread. Absent where that is not known. */
  isBehind?(): boolean;
  /** Called for bytes or messages that were not requested. */
  refused(what: string): void;
  traffic: Traffic;
  /** What the windows of all connections share. */
  windows?: SharedWindows;
}

export type SharedWindows = Pick<WindowLink, 'memory' | 'nowMs'>;

/** For the windows of an object or a Worker, which has 128 MB of memory in all. */
export const WINDOW_BYTES_OF_OBJECT = 32 * 2 ** 20;

const NUMBERS = MAX_CHANNEL_NUMBER + 1;
/** A reader who leaves has caused so many: that the channel is open, and its end. */
const LATE_MESSAGES = 2;

export class OpenChannels implements ChannelPort {
  readonly link: WindowLink;
  readonly #port: ConnectionPort;
  readonly #sinks = new Map<number, { sink: ChannelSink; isOutput: boolean }>();
  readonly #first: number;
  #opened = 0;
  #isDetached = false;
  #outputs = 0;
  /** Messages of channels that were closed which may still arrive, and bytes. */
  #lateMessages = 0;
  #lateBytes = 0;
  /** How long the agent collects output, as the last message to it states (P178); undefined: not known. */
  #collectMs: number | undefined = 0;

  /**
   * `first` must differ from the numbers of the previous connection, and from those before the gateway slept
   * that holds this one, so that what was in transit then reaches no sink of now.
   */
  constructor(port: ConnectionPort, first = 0) {
    this.#port = port;
    this.#first = first;
    const { memory, nowMs = () => 0 } = port.windows ?? {};
    this.link = { memory: new WindowMemory(CONNECTION_WINDOW_BYTES, memory), nowMs };
  }

  get outputs(): number {
    return this.#outputs;
  }

  get streams(): number {
    return this.#sinks.size - this.#outputs;
  }

  get isBehind(): boolean {
    return this.#port.isBehind?.() ?? false;
  }

  /** What was said on the connection before is not known: the gateway has slept. */
  resumed(): void {
    this.#collectMs = undefined;
  }

  /**
   * Each number is used once on a connection, which has two billion. The connection may have closed since
   * the caller obtained it.
   */
  open(key: ServiceKey, target: ChannelTarget, credit: number, sink: ChannelSink, ended?: true): number {
    const channel = (this.#first + this.#opened++) % NUMBERS;
    if (this.#isDetached) {
      queueMicrotask(() => sink.detached());
      return channel;
    }
    const isOutput = target.kind === 'output';
    this.#sinks.set(channel, { sink, isOutput });
    if (isOutput) this.#countOutput(1);
    const { service, generation } = key;
    this.#port.sendText({ type: 'channel.open', channel, service, generation, target, credit, ended });
    return channel;
  }

  send(message: ChannelDown): void {
    if (this.#sinks.has(message.channel)) this.#port.sendText(message);
  }

  sendBytes(channel: number, payload: Uint8Array): void {
    if (!this.#sinks.has(channel)) return;
    this.#port.traffic.toServices += payload.length;
    this.#port.sendBytes(encodeChunk({ channel, payload }));
  }

  close(channel: number, isKnown: boolean, creditBytes = WINDOW_BYTES): void {
    const open = this.#sinks.get(channel);
    if (!open) return;
    this.#sinks.delete(channel);
    if (open.isOutput) this.#countOutput(-1);
    if (isKnown) return;
    // No more can be under way than an agent may serve at once, however often readers come and go.
    this.#lateMessages = Math.min(2 * MAX_CHANNELS * LATE_MESSAGES, this.#lateMessages + LATE_MESSAGES);
    this.#lateBytes = Math.min(2 * CONNECTION_WINDOW_BYTES, this.#lateBytes + creditBytes);
    this.#port.sendText({ type: 'channel.reset', channel });
  }

  /** The connection has closed. Returns the sinks of its open channels. */
  detach(): ChannelSink[] {
    this.#isDetached = true;
    const sinks = [...this.#sinks.values()].map(({ sink }) => sink);
    this.#port.traffic.open -= this.#outputs;
    this.#outputs = 0;
    this.#sinks.clear();
    return sinks;
  }

  /** Whether somebody has caused this chunk. A host that sends empty ones does so by itself. */
  isRequestedChunk({ channel, payload }: Chunk): boolean {
    if (payload.length === 0) return false;
    return this.#sinks.has(channel) || (this.#wasOpened(channel) && payload.length <= this.#lateBytes);
  }

  /** Whether somebody has caused this message. */
  isRequestedMessage({ channel }: ChannelUp): boolean {
    return this.#sinks.has(channel) || (this.#wasOpened(channel) && this.#lateMessages > 0);
  }

  /** Late chunks of channels that are over are ignored. */
  chunk({ channel, payload, isLast }: Chunk): void {
    const open = this.#sinks.get(channel);
    if (open) {
      if (payload.length === 0 || !open.sink.chunk(payload)) {
        this.#port.refused('bytes beyond the credit of a channel, or not as its target sends them');
        return;
      }
      const { traffic } = this.#port;
      if (open.isOutput) traffic.bytes += payload.length - FRAME_HEADER_BYTES;
      else traffic.fromServices += payload.length;
      this.#adjustCollection();
      if (isLast) this.receive({ type: 'channel.end', channel });
    } else if (this.#wasOpened(channel)) this.#lateBytes = Math.max(0, this.#lateBytes - payload.length);
    else this.#port.refused('bytes of a channel that was not opened');
  }

  receive(message: ChannelUp): void {
    const { channel } = message;
    const open = this.#sinks.get(channel);
    if (open) {
      if (!open.sink.message(message)) this.#port.refused(`an unexpected ${message.type}`);
    } else if (!this.#wasOpened(channel)) this.#port.refused('a message for a channel that was not opened');
    else this.#lateMessages = Math.max(0, this.#lateMessages - 1);
  }

  #countOutput(change: 1 | -1): void {
    this.#outputs += change;
    this.#port.traffic.open += change;
    if (change > 0) this.#adjustCollection();
  }

  /** The agent must collect output for another time than it does (P178). */
  #adjustCollection(): void {
    const ms = collectMs(this.#port.traffic.open);
    if (this.#outputs === 0 || ms === this.#collectMs) return;
    this.#collectMs = ms;
    this.#port.sendText({ type: 'collect', ms });
  }

  #wasOpened(channel: number): boolean {
    return (channel - this.#first + NUMBERS) % NUMBERS < this.#opened;
  }
}
