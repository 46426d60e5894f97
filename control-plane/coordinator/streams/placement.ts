/**
 * A placement: where the last start of a service is, and then what becomes of it, for whoever opens channels
 * to it. Only the latest state follows what its reader has used, so a stalled reader costs nothing.
 */
import type { ChannelSubscriber } from '../../core/streams/channel-subscriber.ts';
import type { AgentSession } from '../agents/agent-session.ts';
import type { GatewayAddress } from '../connections/session-peer.ts';
import type { Subscription } from './subscriptions.ts';

/** The connection of a host. */
export interface ChannelAddress {
  hostId: number;
  /** Name of the host, or its id. */
  host: string | number;
  /** Null: the connection is in this process. */
  gateway: GatewayAddress | null;
}

/** One line of a placement. A heartbeat shows that it is alive. */
export type PlacementLine = Placed | Ended | 'heartbeat';

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

/** A placement as its reader has it, in this process or over a socket (remote-placement.ts). */
export interface OpenPlacement {
  /**
   * Resolves to the next line, once the reader has used the one before. Undefined: the placement is over, or
   * its coordinator.
   */
  next(): Promise<PlacementLine | undefined>;
  /** The reader has left. Its place is free. */
  leave(): void;
}

export interface PlacementOptions {
  subscriber: ChannelSubscriber;
  /** The current state; undefined while there is nothing new to state. */
  state(): PlacementState | undefined;
  addressOf(session: AgentSession): ChannelAddress;
  /** Called once, when the placement has ended or its reader has left. */
  done(): void;
}

export class Placement implements Subscription, OpenPlacement {
  readonly subscriber: ChannelSubscriber;
  readonly #options: PlacementOptions;
  /** Answers the reader, if it waits for a line. */
  #answer: ((line: PlacementLine | undefined) => void) | undefined;
  #sent: PlacementState | undefined;
  /** Why it has ended, until the reader takes that. */
  #ended: Ended | undefined;
  #isOver = false;
  readonly #left = Promise.withResolvers<void>();

  constructor(options: PlacementOptions) {
    this.#options = options;
    this.subscriber = options.subscriber;
  }

  async next(): Promise<PlacementLine | undefined> {
    if (this.#isOver) {
      const ended = this.#ended;
      this.#ended = undefined;
      return ended;
    }
    const { promise, resolve } = Promise.withResolvers<PlacementLine | undefined>();
    this.#answer = resolve;
    this.update();
    return promise;
  }

  /** The state may have changed. */
  update(): void {
    if (this.#isOver) return;
    // Called even if nothing can be sent: the state remembers the last start of a service that has ended.
    const state = this.#options.state();
    if (!state) return;
    if ('ended' in state) {
      void this.end(state);
      return;
    }
    if (!this.#answer || isSame(state, this.#sent)) return;
    this.#sent = state;
    const { session, ...rest } = state;
    this.#send({ ...rest, at: session ? this.#options.addressOf(session) : null });
  }

  heartbeat(): void {
    this.#send('heartbeat');
  }

  /** Resolves once the reader has left: what it had open is over. */
  end(reason: Ended): Promise<void> {
    if (this.#answer) this.#send(reason);
    else if (!this.#isOver) this.#ended = reason;
    this.#free();
    return this.#left.promise;
  }

  leave(): void {
    this.#free();
    this.#left.resolve();
  }

  #free(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#send(undefined);
    this.#options.done();
  }

  #send(line: PlacementLine | undefined): void {
    this.#answer?.(line);
    this.#answer = undefined;
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
