/** A channel to the stored output of a start, or to what the start has used. */
import type { FileHandle } from 'node:fs/promises';
import type { ServiceKey } from '../../shared/protocol/assignment.ts';
import { encodeChunk } from '../../shared/protocol/codec.ts';
import { sizeText } from '../../shared/sizes.ts';
import { encodeFrame } from '../../shared/streams/log-frames.ts';
import type { OutputTarget } from '../../shared/streams/targets.ts';
import { LogReader } from '../logs/log-reader.ts';
import type { LogRetention } from '../logs/log-retention.ts';
import type { Channel, ChannelOptions } from './channel.ts';

/** Where output is. */
export interface OutputSources {
  open(key: ServiceKey): Promise<FileHandle | undefined>;
  retention: Pick<
    LogRetention,
    'firstOffset' | 'lastRemoved' | 'maxBytes' | 'outputIn' | 'isLost' | 'mayCutLine' | 'remarkOf'
  >;
  mayWrite(key: ServiceKey): boolean;
  /** The usage of a start as lines of text; undefined if there is none. */
  usageOf(key: ServiceKey): string | undefined;
}

export class OutputChannel implements Channel {
  readonly isOpened = true;
  readonly #options: ChannelOptions;
  readonly #key: ServiceKey;
  readonly #target: OutputTarget;
  readonly #sources: OutputSources;
  readonly #reader: LogReader;
  #isOver = false;

  constructor(
    options: ChannelOptions,
    key: ServiceKey,
    target: OutputTarget,
    sources: OutputSources & { pauseMs(): number },
  ) {
    this.#options = options;
    this.#key = key;
    this.#target = target;
    this.#sources = sources;
    this.#reader = readerOf(options, key, target, sources);
  }

  async run(): Promise<void> {
    const { channel, send } = this.#options;
    send({ type: 'channel.opened', channel });
    const isThere = this.#target.format === 'usage' ? await this.#sendUsage() : await this.#reader.run();
    if (!this.#isOver) send({ type: 'channel.end', channel, ...(!isThere && { missing: true }) });
  }

  /** Nothing may be written to output. */
  receive(): boolean {
    return false;
  }

  endInput(): void {}

  destroy(): void {
    this.#isOver = true;
    this.#reader.close();
  }

  /**
   * Sends the whole usage as one frame (P228), because it may differ the next time. A reader that continues
   * after this frame gets the end alone.
   */
  async #sendUsage(): Promise<boolean> {
    if (this.#target.offset > 0) return true;
    const lines = this.#sources.usageOf(this.#key);
    if (lines === undefined) return false;
    const { service, generation } = this.#key;
    const payload = Buffer.from(lines);
    const frame = encodeFrame({ service, position: { generation, offset: payload.length }, payload });
    const { channel, credit, sendBytes } = this.#options;
    if (frame.length > credit.bytes)
      throw new Error(`the usage of the service requires a credit of ${frame.length} bytes`);
    await sendBytes(encodeChunk({ channel, payload: frame }));
    return true;
  }
}

function readerOf(
  { channel, credit, sendBytes }: ChannelOptions,
  key: ServiceKey,
  target: OutputTarget,
  { retention, pauseMs, ...sources }: OutputSources & { pauseMs(): number },
): LogReader {
  const limit = `the host stores at most ${sizeText(retention.maxBytes)} of the output of a service (BERTH_LIMITS.logBytes)`;
  return new LogReader({
    channel,
    key,
    target,
    credit,
    open: () => sources.open(key),
    isLive: () => sources.mayWrite(key),
    firstOffset: () => retention.firstOffset(key),
    mayCutLine: () => retention.mayCutLine(key),
    remark: () => {
      const text = retention.remarkOf(key);
      return text && `[berth] ${text}`;
    },
    missingText: (bytes) =>
      `[berth] ${sizeText(retention.outputIn(key, bytes))} of older output are missing here: ${limit}.`,
    lostText: () =>
      retention.isLost(key)
        ? '[berth] Output is missing here: the host could not store it, for example because its disk was full.'
        : undefined,
    removedText:
      retention.lastRemoved(key.service) === key.generation
        ? `[berth] The output of the service's first ${key.generation} starts is missing here: ${limit}.`
        : undefined,
    pauseMs,
    send: sendBytes,
  });
}
