/**
 * A placement: where the last start of a service is, and then what becomes of it, as lines of JSON for
 * whoever opens channels to it. Only the latest state is sent, so a stalled reader costs one line.
 */
import type { ChannelSubscriber } from '../../core/streams/channel-subscriber.ts';
import type { AgentSession } from '../agents/agent-session.ts';
import type { GatewayAddress } from '../connections/session-peer.ts';
import { linesOf } from './lines.ts';
import type { Subscription } from './subscriptions.ts';

/** The connection of a host. */
export interface ChannelAddress {
  hostId: number;
  /** Name of the host, or its id. */
  host: string | number;
  /** Null: the connection is in this process. */
  gateway: GatewayAddress | null;
}

/** One line of a placement. Empty lines show that it is alive. */
export type PlacementLine = Placed | Ended;

export interface Placed {
  /** Number of the last start; 0: none. */
  generation: number;
  /** Null while the host is not connected. */
  at: ChannelAddress | null;
  /** Why it is not connected, if that may last: a sentence. */
  away?: string | undefined;
  /** The host was removed, and the output of the service with it. */
  removed: boolean;
  /** The service will not be started again. */
  final: boolean;
}

/** Nothing follows: why channels to the service must end. */
export interface Ended {
  ended: string;
  /** The subscriber has lost access. */
  lostAccess?: true;
}

/** What a placement states; its session has the address. */
export type PlacementState = (Omit<Placed, 'at'> & { session: AgentSession | undefined }) | Ended;

export interface PlacementOptions {
  subscriber: ChannelSubscriber;
  /** Its reader can end the placement by this id (Placements.left). */
  id?: string | undefined;
  /** The current state; undefined while there is nothing new to state. */
  state(): PlacementState | undefined;
  addressOf(session: AgentSession): ChannelAddress;
  /** Called once, when the placement has ended or its reader has left. */
  done(): void;
}

export class Placement implements Subscription {
  readonly stream: ReadableStream<Uint8Array>;
  readonly subscriber: ChannelSubscriber;
  readonly id: string | undefined;
  readonly #options: PlacementOptions;
  #controller: ReadableByteStreamController | undefined;
  #sent: PlacementState | undefined;

  constructor(options: PlacementOptions) {
    this.#options = options;
    this.subscriber = options.subscriber;
    this.id = options.id;
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

  /** The state may have changed. */
  update(): void {
    if (!this.#controller) return;
    // Called even if nothing can be sent: the state remembers the last start of a service that has ended.
    const state = this.#options.state();
    if (!state) return;
    if ('ended' in state) {
      this.end(state);
      return;
    }
    if (isSame(state, this.#sent) || !this.#hasBufferSpace()) return;
    this.#sent = state;
    const { session, ...rest } = state;
    this.#send({ ...rest, at: session ? this.#options.addressOf(session) : null });
  }

  heartbeat(): void {
    if (this.#hasBufferSpace()) this.#controller?.enqueue(new TextEncoder().encode('\n'));
  }

  end(reason: Ended): void {
    this.#send(reason);
    this.leave();
  }

  /** Nobody reads any more. */
  leave(): void {
    const controller = this.#controller;
    this.#finish();
    controller?.close();
    // A byte stream with a pending read closes only after that read is answered.
    controller?.byobRequest?.respond(0);
  }

  #hasBufferSpace(): boolean {
    return (this.#controller?.desiredSize ?? 0) > 0;
  }

  #send(line: PlacementLine): void {
    this.#controller?.enqueue(new TextEncoder().encode(`${JSON.stringify(line)}\n`));
  }

  #finish(): void {
    if (!this.#controller) return;
    this.#controller = undefined;
    this.#options.done();
  }
}

/** Compared for every reader after every turn. A session has the same connection for its whole life. */
const isSame = (one: PlacementState, other: PlacementState | undefined): boolean =>
  other !== undefined &&
  !('ended' in one) &&
  !('ended' in other) &&
  one.session === other.session &&
  one.generation === other.generation &&
  one.removed === other.removed &&
  one.away === other.away &&
  one.final === other.final;

/** The lines of a placement; undefined for those that only show that it is alive. */
export async function* placementLines(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): AsyncGenerator<PlacementLine | undefined> {
  for await (const line of linesOf(reader)) yield line === '' ? undefined : JSON.parse(line);
}
