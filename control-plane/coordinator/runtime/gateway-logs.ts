/**
 * Logs for readers in the Worker: the coordinator streams where the log of a service is, and the output comes
 * from the gateways. The relay that joins the starts of a service runs here, so that no output passes the
 * coordinator (P174).
 */
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { LogFormat, LogPart } from '../../../shared/protocol/down.ts';
import { decodeFrame, FrameSplitter, noteOf } from '../../core/streams/log-frames.ts';
import { LogWindows, windowBefore } from '../../core/streams/log-windows.ts';
import type { LogSink } from '../connections/open-logs.ts';
import type { LogServer } from '../connections/session-peer.ts';
import type { CoordinatorApi } from '../coordinator-api.ts';
import { inTime } from '../gateways/batch-sender.ts';
import { linesOf } from '../streams/lines.ts';
import { LogRelay } from '../streams/log-relay.ts';
import type { WatchedLog } from '../streams/log-watch.ts';
import { noFreeStream } from '../streams/logs.ts';
import { objectClock } from './object-clock.ts';
import type { GatewayLink } from './object-links.ts';

/** A log whose gateway does not serve it is tried again after that time, unless the coordinator has news. */
const RETRY_MS = 1_000;

type OpenGateway = (gateway: number) => Pick<GatewayLink, 'openLog' | 'closeLog'>;

/** The `openLog` of a coordinator whose agents are at gateways. Open logs share the memory of `windows`. */
export const openLogsFrom =
  (
    coordinator: Pick<CoordinatorApi, 'watchLog'>,
    gateway: OpenGateway,
    windows = new LogWindows(),
  ): CoordinatorApi['openLog'] =>
  async (subscriber, serviceId, format, from, part) => {
    const watch = (await coordinator.watchLog(subscriber, serviceId, part)).getReader();
    let state: WatchedLog | undefined;
    let server: GatewayServer | undefined;
    const window = windows.take();
    const source = () => {
      const { generation = 0, removed = false, final = false, at = null, away } = state ?? {};
      if (at?.connection !== server?.at.connection)
        server = at ? new GatewayServer(at, gateway, windowBefore(window)) : undefined;
      if (server && at) server.at = at;
      if (server) server.free = () => relay.update();
      // Before the first state nothing is known of the end.
      const isOver = final || (part?.follow === false && state !== undefined);
      const rested = server?.isResting === false ? server : undefined;
      return { generation, removed, away, final: isOver, server: rested };
    };
    const done = () => {
      windows.giveBack(window);
      void watch.cancel().catch(() => {});
    };
    const relay: LogRelay = new LogRelay(subscriber, serviceId, format, source, done, from, window, part);
    const follow = async () => {
      let isOpen = false;
      for await (const line of linesOf(watch)) {
        if (line === '') relay.heartbeat();
        else {
          const watched: WatchedLog = JSON.parse(line);
          if (watched.lastLine !== undefined) {
            await server?.close();
            relay.endWith(watched.lastLine);
            first.resolve();
            return;
          }
          state = watched;
          relay.update();
          if (!isOpen) await server?.hasAnswered;
          isOpen = true;
          first.resolve();
        }
      }
      throw new Error('the coordinator has restarted');
    };
    const first = Promise.withResolvers<void>();
    follow().catch(async (error) => {
      first.reject(error);
      // The runtime drops whatever a request has still to send once its response has failed.
      await server?.close();
      relay.abort(error);
    });
    await first.promise;
    const { refusal } = server ?? {};
    if (!refusal) return relay.stream;
    relay.abort(refusal);
    throw refusal;
  };

/** The logs of one connection at a gateway, for one reader. */
class GatewayServer implements LogServer {
  /** The latest of the connection. */
  at: NonNullable<WatchedLog['at']>;
  /** True for a time after the gateway did not serve the log. */
  isResting = false;
  /** Why the gateway refused to open the log. */
  refusal: Error | undefined;
  /** Resolves once the gateway has opened or refused the log. */
  hasAnswered: Promise<void> = Promise.resolve();
  /** Called when the server may be tried again. */
  free = () => {};
  readonly #gateway: OpenGateway;
  readonly #windowBytes: number;
  readonly #open = new Map<number, Reading>();
  #opened = 0;

  /** A gateway holds at most `windowBytes` of a log. */
  constructor(at: NonNullable<WatchedLog['at']>, gateway: OpenGateway, windowBytes: number) {
    this.at = at;
    this.#windowBytes = windowBytes;
    this.#gateway = gateway;
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
    const { gateway, connection, sent, host } = this.at;
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
    const opened = inTime(answer, objectClock).then((served) => {
      if (served !== 'full') return served;
      this.refusal = noFreeStream(host);
      throw this.refusal;
    });
    this.hasAnswered = opened.then(
      () => {},
      () => {},
    );
    const reading = new Reading(opened, stream, credit, sink, () => this.#gateway(gateway).closeLog(reader));
    this.#open.set(stream, reading);
    void reading.run().then(
      (isComplete) => {
        this.#open.delete(stream);
        if (isComplete) return;
        this.isResting = true;
        setTimeout(() => {
          this.isResting = false;
          this.free();
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
