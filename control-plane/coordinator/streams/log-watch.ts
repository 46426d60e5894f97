/**
 * One subscriber whose log comes from gateways: streams where the log of its service is, as lines of JSON,
 * and never the log itself. Only the latest state is sent, so a stalled subscriber costs one line.
 */
import type { LogSubscriber } from '../../core/streams/stream-subscriber.ts';
import type { GatewayAddress } from '../agents/session-peer.ts';
import type { LogReader, LogState } from './log-state.ts';

/** A line of the stream: the state of a service's log. An empty line shows that the stream is alive. */
export interface WatchedLog extends Omit<LogState, 'session'> {
  /** The connection of the host of the last start; null while the host is not connected. */
  at: (GatewayAddress & { host: string | number }) | null;
}

export class LogWatch implements LogReader {
  readonly stream: ReadableStream<Uint8Array>;
  readonly subscriber: LogSubscriber;
  readonly #state: () => WatchedLog | undefined;
  readonly #done: () => void;
  #controller: ReadableByteStreamController | undefined;
  #sent = '';

  /** `state` returns undefined while changes are uncommitted. `done` is called once, at the stream's end. */
  constructor(subscriber: LogSubscriber, state: () => WatchedLog | undefined, done: () => void) {
    this.subscriber = subscriber;
    this.#state = state;
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
    if (!state || !this.#hasBufferSpace()) return;
    const news = JSON.stringify({ ...state, at: state.at && { ...state.at, sent: 0 } });
    if (news === this.#sent) return;
    this.#sent = news;
    this.#send(JSON.stringify(state));
  }

  heartbeat(): void {
    if (this.#hasBufferSpace()) this.#send('');
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
