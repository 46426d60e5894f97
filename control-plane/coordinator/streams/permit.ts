/** One permit of a stream, as lines of JSON to where the relay of its bytes runs (stream-session.ts). */
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { StreamPlace } from '../../core/streams/stream-end.ts';
import type { StreamSubscriber } from '../../core/streams/stream-subscriber.ts';
import type { GatewayAddress } from '../connections/session-peer.ts';
import type { Subscription } from './subscriptions.ts';

/**
 * The lines of a permit: where the service runs, and then, if the permit ends, why. Empty lines are
 * heartbeats.
 */
export type PermitLine =
  | { key: ServiceKey; hostId: number; gateway: GatewayAddress | null }
  | { ended: string };

export class Permit implements Subscription {
  readonly id: string | undefined;
  readonly stream: ReadableStream<Uint8Array>;
  readonly subscriber: StreamSubscriber;
  readonly place: StreamPlace;
  readonly #done: () => void;
  #controller: ReadableByteStreamController | undefined;

  /** `done` is called once, when the permit has ended or was cancelled. */
  constructor(id: string | undefined, subscriber: StreamSubscriber, place: StreamPlace, done: () => void) {
    this.id = id;
    this.subscriber = subscriber;
    this.place = place;
    this.#done = done;
    // workerd passes only byte streams from a Durable Object.
    this.stream = new ReadableStream(
      {
        type: 'bytes',
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => this.#finish(),
      },
      { highWaterMark: 1 },
    );
  }

  send(line: PermitLine): void {
    this.#controller?.enqueue(new TextEncoder().encode(`${JSON.stringify(line)}\n`));
  }

  heartbeat(): void {
    this.#controller?.enqueue(new TextEncoder().encode('\n'));
  }

  end(reason: string): void {
    this.send({ ended: reason });
    this.leave();
  }

  /** Nobody reads any more. */
  leave(): void {
    const controller = this.#controller;
    this.#finish();
    controller?.close();
    controller?.byobRequest?.respond(0);
  }

  #finish(): void {
    if (!this.#controller) return;
    this.#controller = undefined;
    this.#done();
  }
}
