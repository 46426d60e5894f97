/**
 * One subscriber whose log comes from gateways: streams where the log of its service is, as lines of JSON,
 * and never the log itself. Only the latest state is sent, so a stalled subscriber costs one line.
 */
import type { LogSubscriber } from '../../core/streams/stream-subscriber.ts';
import type { AgentSession } from '../agents/agent-session.ts';
import type { GatewayAddress } from '../connections/session-peer.ts';
import type { LogReader, LogState } from './log-state.ts';

/** A line of the stream: the state of a service's log. An empty line shows that the stream is alive. */
export interface WatchedLog extends Omit<LogState, 'session'> {
  /** The last line of a log whose subscriber has lost access; nothing follows it. */
  lastLine?: string;
  /** The connection of the host of the last start; null while the host is not connected. */
  at: (GatewayAddress & { host: string | number }) | null;
}

export class LogWatch implements LogReader {
  readonly stream: ReadableStream<Uint8Array>;
  readonly subscriber: LogSubscriber;
  readonly #state: () => LogState | undefined;
  readonly #addressOf: (session: AgentSession) => WatchedLog['at'];
  readonly #done: () => void;
  #controller: ReadableByteStreamController | undefined;
  #sent: LogState | undefined;

  /**
   * `state` returns undefined while changes are uncommitted. `addressOf` returns null for an agent that is
   * not at a gateway. `done` is called once, at the stream's end.
   */
  constructor(
    subscriber: LogSubscriber,
    state: () => LogState | undefined,
    addressOf: (session: AgentSession) => WatchedLog['at'],
    done: () => void,
  ) {
    this.subscriber = subscriber;
    this.#state = state;
    this.#addressOf = addressOf;
    this.#done = done;
    // workerd passes only byte streams from a Durable Object to a Worker.
    this.stream = new ReadableStream(
      {
        type: 'bytes',
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.update(),
        cancel: () => this.#finish(),
      },
      { highWaterMark: 1 },
    );
  }

  update(): void {
    if (!this.#controller) return;
    // Called even if nothing can be sent: the state remembers the last start of a service that has ended.
    const state = this.#state();
    if (!state || isSame(state, this.#sent) || !this.#hasBufferSpace()) return;
    this.#sent = state;
    const { session, ...rest } = state;
    const line: WatchedLog = { ...rest, at: session ? this.#addressOf(session) : null };
    this.#send(JSON.stringify(line));
  }

  heartbeat(): void {
    if (this.#hasBufferSpace()) this.#send('');
  }

  endWith(lastLine: string): void {
    const controller = this.#controller;
    const last: WatchedLog = { generation: 0, removed: false, final: false, at: null, lastLine };
    this.#send(JSON.stringify(last));
    this.#finish();
    controller?.close();
    controller?.byobRequest?.respond(0);
  }

  abort(cause: Error): void {
    const controller = this.#controller;
    this.#finish();
    controller?.error(cause);
  }

  #hasBufferSpace(): boolean {
    return (this.#controller?.desiredSize ?? 0) > 0;
  }

  #send(line: string): void {
    this.#controller?.enqueue(new TextEncoder().encode(`${line}\n`));
  }

  #finish(): void {
    if (!this.#controller) return;
    this.#controller = undefined;
    this.#done();
  }
}

/** Compared for every reader after every turn. A session has the same connection for its whole life. */
const isSame = (one: LogState, other: LogState | undefined): boolean =>
  one.session === other?.session &&
  one.generation === other?.generation &&
  one.removed === other.removed &&
  one.away === other.away &&
  one.final === other.final;
