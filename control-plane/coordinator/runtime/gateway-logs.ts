/**
 * Logs for readers in the Worker: their output comes from the gateways and does not pass the coordinator
 * (P174).
 */
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { LogFormat, LogPart } from '../../../shared/protocol/down.ts';
import { decodeFrame, FrameSplitter, noteOf } from '../../../shared/streams/log-frames.ts';
import type { OperationError } from '../../core/model/errors.ts';
import { windowBefore } from '../../core/streams/log-windows.ts';
import type { LogSink } from '../connections/open-logs.ts';
import type { GatewayAddress, LogServer } from '../connections/session-peer.ts';
import { inTime } from '../gateways/batch-sender.ts';
import type { ChannelAddress } from '../streams/placement.ts';
import { type HostLogs, noFreeStream, type ServiceLogsDeps } from '../streams/service-logs.ts';
import { objectClock } from './object-clock.ts';
import type { GatewayLink } from './object-links.ts';

/** A log whose gateway does not serve it is tried again after that time, unless the coordinator has news. */
const RETRY_MS = 1_000;

type OpenGateway = (gateway: number) => Pick<GatewayLink, 'openLog' | 'closeLog'>;

export const gatewayLogs =
  (gateway: OpenGateway): ServiceLogsDeps['logsAt'] =>
  (at, window, free) =>
    new GatewayServer(at, gateway, windowBefore(window), free);

/** The logs of one connection at a gateway, for one reader. */
class GatewayServer implements LogServer, HostLogs {
  at: ChannelAddress;
  readonly #gateway: OpenGateway;
  readonly #windowBytes: number;
  readonly #free: () => void;
  readonly #open = new Map<number, Reading>();
  #opened = 0;
  /** True for a time after the gateway did not serve the log. */
  #isResting = false;
  /** Settles once the gateway has opened or refused the log. */
  #answer: Promise<void> = Promise.resolve();

  /** A gateway holds at most `windowBytes` of a log. */
  constructor(at: ChannelAddress, gateway: OpenGateway, windowBytes: number, free: () => void) {
    this.at = at;
    this.#gateway = gateway;
    this.#windowBytes = windowBytes;
    this.#free = free;
  }

  get server(): LogServer | undefined {
    return this.#isResting ? undefined : this;
  }

  opened(): Promise<void> {
    return this.#answer;
  }

  get openLogs(): number {
    return this.#open.size;
  }

  openLog(
    key: ServiceKey,
    offset: number,
    credit: number,
    format: LogFormat,
    sink: LogSink,
    part?: LogPart,
  ): number {
    const stream = ++this.#opened;
    const { gateway, connection, sent } = addressAtGateway(this.at);
    const reader = crypto.randomUUID();
    const answer = this.#gateway(gateway).openLog(
      { connection, sent },
      reader,
      key,
      offset,
      format,
      this.#windowBytes,
      part,
    );
    let refusal: OperationError | undefined;
    const opened = inTime(answer, objectClock).then((served) => {
      if (served !== 'full') return served;
      refusal = noFreeStream(this.at.host);
      throw refusal;
    });
    this.#answer = opened.then(
      () => {},
      () => {
        if (refusal) throw refusal;
      },
    );
    this.#answer.catch(() => {});
    const reading = new Reading(opened, stream, credit, sink, () => this.#gateway(gateway).closeLog(reader));
    this.#open.set(stream, reading);
    void reading.run().then(
      (isComplete) => {
        this.#open.delete(stream);
        if (isComplete) return;
        this.#isResting = true;
        setTimeout(() => {
          this.#isResting = false;
          this.#free();
        }, RETRY_MS);
        sink.detached();
      },
      (error: Error) => sink.end({ type: 'logs.end', stream, reason: 'failed', message: error.message }),
    );
    return stream;
  }

  grant(stream: number, bytes: number): void {
    this.#open.get(stream)?.grant(bytes);
  }

  closeLog(stream: number): void {
    void this.#open.get(stream)?.close();
    this.#open.delete(stream);
  }

  /** Closes all logs. */
  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((reading) => reading.close()));
  }
}

function addressAtGateway({ gateway }: ChannelAddress): GatewayAddress {
  if (!gateway) throw new Error('the connection is at no gateway');
  return gateway;
}

/** One start's output on its way from a gateway to a relay, which grants credit as its reader reads. */
class Reading {
  readonly #opened: Promise<ReadableStream<Uint8Array> | undefined>;
  readonly #stream: number;
  readonly #sink: LogSink;
  readonly #closeAtGateway: () => Promise<void>;
  #credit: number;
  #granted = () => {};
  #isClosed = false;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(
    opened: Promise<ReadableStream<Uint8Array> | undefined>,
    stream: number,
    credit: number,
    sink: LogSink,
    closeAtGateway: () => Promise<void>,
  ) {
    this.#closeAtGateway = closeAtGateway;
    this.#opened = opened;
    this.#stream = stream;
    this.#credit = credit;
    this.#sink = sink;
  }

  grant(bytes: number): void {
    this.#credit += bytes;
    this.#granted();
  }

  /** Resolves once the gateway has been informed, or can't be. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#granted();
    // The cancellation of a stream does not reach its source before that sends again.
    await inTime(this.#closeAtGateway(), objectClock).catch(() => {});
    void this.#reader?.cancel().catch(() => {});
  }

  /**
   * Resolves to true if the log has ended or was closed, and to false if its connection is gone. Rejects if
   * the host refuses the log.
   */
  async run(): Promise<boolean> {
    const stream = await this.#opened.catch((error) => {
      if (error.code === 'unavailable') throw error;
      return undefined;
    });
    if (this.#isClosed) void stream?.cancel().catch(() => {});
    if (!stream || this.#isClosed) return this.#isClosed;
    this.#reader = stream.getReader();
    try {
      return await this.#pass(this.#reader);
    } catch {
      return this.#isClosed;
    }
  }

  async #pass(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<boolean> {
    const splitter = new FrameSplitter();
    for (let part = await reader.read(); !part.done; part = await reader.read())
      for (const bytes of splitter.push(part.value)) {
        const frame = decodeFrame(bytes);
        const note = noteOf(frame);
        if (frame.service > 0 && !note) await this.#covered(frame.payload.byteLength);
        if (this.#isClosed) return true;
        if (note) {
          this.#end(note);
          return true;
        }
        const { payload, position } = frame;
        if (frame.service > 0) this.#sink.chunk({ stream: this.#stream, next: position.offset, payload });
        this.#credit -= payload.byteLength;
      }
    return this.#isClosed;
  }

  #end(note: NonNullable<ReturnType<typeof noteOf>>): void {
    const stream = this.#stream;
    if ('trouble' in note)
      this.#sink.end({ type: 'logs.end', stream, reason: 'failed', message: note.trouble });
    else this.#sink.end({ type: 'logs.end', stream, reason: 'missing' in note ? 'missing' : 'exited' });
  }

  /** Resolves once the credit covers that many bytes, or the log was closed. */
  async #covered(bytes: number): Promise<void> {
    while (this.#credit < bytes && !this.#isClosed) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#granted = resolve;
      await promise;
    }
  }
}
