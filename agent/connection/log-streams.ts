/** The open log streams of one connection. A stream never outlives its connection (P10). */
import type { FileHandle } from 'node:fs/promises';
import type { ServiceKey } from '../../shared/protocol/assignment.ts';
import { encodeChunk, MAX_LOG_STREAMS } from '../../shared/protocol/codec.ts';
import type { Down } from '../../shared/protocol/down.ts';
import type { Up } from '../../shared/protocol/up.ts';
import { sizeText } from '../../shared/sizes.ts';
import { type LogEnd, LogReader } from '../logs/log-reader.ts';
import type { LogRetention } from '../logs/log-retention.ts';

/** All streams together send some 250 small chunks in a second (P156). */
const MIN_PAUSE_MS = 20;
const PAUSE_MS_PER_STREAM = 4;

export interface LogStreamsOptions {
  open(key: ServiceKey): Promise<FileHandle | undefined>;
  retention: Pick<
    LogRetention,
    'firstOffset' | 'lastRemoved' | 'maxBytes' | 'outputIn' | 'isLost' | 'mayCutLine' | 'remarkOf'
  >;
  mayWrite(key: ServiceKey): boolean;
  /** The usage of a start as lines of text; undefined if there is none. */
  usageOf(key: ServiceKey): string | undefined;
  send(message: Up): void;
  /**
   * Resolves when the bytes have been passed to the network, so that at most one chunk is buffered for each
   * stream.
   */
  sendBytes(bytes: Uint8Array): Promise<void>;
}

export class LogStreams {
  readonly #options: LogStreamsOptions;
  readonly #readers = new Map<number, LogReader>();
  /** What the control plane requires beside P156 (P178). */
  #collectMs = 0;

  constructor(options: LogStreamsOptions) {
    this.#options = options;
  }

  open(message: Extract<Down, { type: 'logs.open' }>): void {
    const { stream, service, generation, offset, credit, format, collectMs = 0, follow, tail } = message;
    this.close(stream);
    this.#collectMs = collectMs;
    const key = { service, generation };
    const end = (end: LogEnd) => this.#options.send({ type: 'logs.end', stream, ...end });
    if (format === 'usage') {
      void this.#sendUsage(message).then(end);
      return;
    }
    // Each stream has buffers of a third of a megabyte.
    if (this.#readers.size >= MAX_LOG_STREAMS) {
      end({ reason: 'failed', message: 'too many log streams' });
      return;
    }
    const { retention } = this.#options;
    const limit = `the host stores at most ${sizeText(retention.maxBytes)} of the output of a service (BERTH_LIMITS.logBytes)`;
    const reader = new LogReader({
      stream,
      offset,
      credit,
      format,
      part: { follow, tail },
      open: () => this.#options.open(key),
      isLive: () => this.#options.mayWrite(key),
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
        retention.lastRemoved(service) === generation
          ? `[berth] The output of the service's first ${generation} starts is missing here: ${limit}.`
          : undefined,
      pauseMs: () => pauseMs(this.#readers.size, this.#collectMs),
      send: (frame) => this.#options.sendBytes(frame),
      end,
    });
    this.#readers.set(stream, reader);
    void reader.run().then(() => {
      if (this.#readers.get(stream) === reader) this.#readers.delete(stream);
    });
  }

  /**
   * Sends the whole usage as one chunk (P228), because it may differ the next time. A reader that continues
   * after this chunk gets the end alone.
   */
  async #sendUsage({
    stream,
    offset,
    credit,
    ...key
  }: Extract<Down, { type: 'logs.open' }>): Promise<LogEnd> {
    if (offset > 0) return { reason: 'exited' };
    const lines = this.#options.usageOf(key);
    if (lines === undefined) return { reason: 'missing' };
    const payload = Buffer.from(lines);
    if (payload.length > credit)
      return {
        reason: 'failed',
        message: `the usage of the service requires a credit of ${payload.length} bytes`,
      };
    await this.#options.sendBytes(encodeChunk({ stream, next: payload.length, payload }));
    return { reason: 'exited' };
  }

  /** Late grants and closes for an ended stream are ignored. */
  grant({ stream, bytes, collectMs }: Extract<Down, { type: 'logs.credit' }>): void {
    if (collectMs !== undefined) this.#collectMs = collectMs;
    this.#readers.get(stream)?.grant(bytes);
  }

  close(stream: number): void {
    this.#readers.get(stream)?.close();
    this.#readers.delete(stream);
  }

  closeAll(): void {
    for (const stream of [...this.#readers.keys()]) this.close(stream);
  }
}

export const pauseMs = (streams: number, collectMs: number): number =>
  Math.max(MIN_PAUSE_MS, PAUSE_MS_PER_STREAM * streams, collectMs);
