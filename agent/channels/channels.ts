/** The open channels of one connection. A channel never outlives its connection (P10, P252). */
import type { ServiceKey } from '../../shared/protocol/assignment.ts';
import type { Chunk } from '../../shared/protocol/codec.ts';
import type { ChannelDown } from '../../shared/protocol/down.ts';
import { Credit } from '../../shared/streams/credit.ts';
import { largestWindow, MAX_CHANNELS, type OutputTarget } from '../../shared/streams/targets.ts';
import { CONNECTION_WINDOW_BYTES, type WindowLink, WindowMemory } from '../../shared/streams/window.ts';
import type { OpenTarget } from '../engine/streams/target.ts';
import { messageOf } from '../logger.ts';
import type { Channel, ChannelOptions } from './channel.ts';
import { OutputChannel, type OutputSources } from './output-channel.ts';
import { TargetChannel } from './target-channel.ts';

export interface ChannelsOptions extends Pick<ChannelOptions, 'send' | 'sendBytes'> {
  open: OpenTarget;
  output: OutputSources;
}

type Open = Extract<ChannelDown, { type: 'channel.open' }>;

/** All channels to output together send some 250 small chunks in a second (P156). */
const MIN_PAUSE_MS = 20;
const PAUSE_MS_PER_CHANNEL = 4;

export class Channels {
  readonly #options: ChannelsOptions;
  readonly #link: WindowLink = {
    memory: new WindowMemory(CONNECTION_WINDOW_BYTES),
    nowMs: () => performance.now(),
  };
  readonly #open = new Map<number, { channel: Channel; credit: Credit; isOutput: boolean }>();
  /** What the control plane requires beside P156 (P178). */
  #collectMs = 0;

  constructor(options: ChannelsOptions) {
    this.#options = options;
  }

  /** Messages for a channel that is over are ignored: they may have been in transit. */
  receive(message: ChannelDown): void {
    const open = this.#open.get(message.channel);
    switch (message.type) {
      case 'channel.open':
        void this.#run(message);
        break;
      case 'channel.credit':
        open?.credit.add(message.bytes);
        break;
      case 'channel.end':
        open?.channel.endInput();
        break;
      case 'channel.reset':
        this.#close(message.channel);
        break;
      case 'channel.resize':
        open?.channel.target?.resize(message);
        break;
      case 'channel.signal':
        open?.channel.target?.signal(message.signal);
    }
  }

  /** False if the chunk exceeds its channel's credit. */
  chunk({ channel, payload }: Chunk): boolean {
    return this.#open.get(channel)?.channel.receive(payload) ?? true;
  }

  collect(ms: number): void {
    this.#collectMs = ms;
  }

  closeAll(): void {
    for (const channel of [...this.#open.keys()]) this.#close(channel);
  }

  async #run({ channel: number, target, credit: bytes, service, generation, ended }: Open): Promise<void> {
    const { send, sendBytes } = this.#options;
    const isOutput = target.kind === 'output';
    if (this.#count(isOutput) >= MAX_CHANNELS) {
      const message = `the host has ${MAX_CHANNELS} ${isOutput ? 'logs' : 'streams'} open, which is its maximum; try again later`;
      send({ type: 'channel.reset', channel: number, refused: true, message });
      return;
    }
    this.#close(number);
    const credit = new Credit(bytes);
    const options = { channel: number, credit, ended, send, sendBytes };
    const key = { service, generation };
    const channel = isOutput
      ? this.#output(options, key, target)
      : new TargetChannel({
          ...{ ...options, link: this.#link, mostBytes: largestWindow(target) },
          open: () => this.#options.open(key, target),
        });
    this.#open.set(number, { channel, credit, isOutput });
    const isCurrent = () => this.#open.get(number)?.channel === channel;
    try {
      await channel.run();
    } catch (error) {
      const refused = !channel.isOpened;
      if (isCurrent()) send({ type: 'channel.reset', channel: number, refused, message: messageOf(error) });
    }
    if (isCurrent()) this.#close(number);
  }

  #output(options: ChannelOptions, key: ServiceKey, target: OutputTarget): OutputChannel {
    const pauseMs = () => pauseOf(this.#count(true), this.#collectMs);
    return new OutputChannel(options, key, target, { ...this.#options.output, pauseMs });
  }

  #count(isOutput: boolean): number {
    return [...this.#open.values()].filter((one) => one.isOutput === isOutput).length;
  }

  #close(number: number): void {
    const open = this.#open.get(number);
    this.#open.delete(number);
    open?.credit.close();
    open?.channel.destroy();
  }
}

export const pauseOf = (outputs: number, collectMs: number): number =>
  Math.max(MIN_PAUSE_MS, PAUSE_MS_PER_CHANNEL * outputs, collectMs);
