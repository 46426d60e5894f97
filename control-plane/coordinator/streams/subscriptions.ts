/**
 * Owns who reads streams of one kind: how many of them a user and all together have, and which of the subscriptions are not the
 * users any more that were let in. What their streams tell is not its business.
 */

import { OperationError } from '../../core/model/errors.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import { isCurrent, type Subscriber } from '../../core/streams/stream-subscriber.ts';

/** A stream that is open. */
export interface Subscription {
  readonly subscriber: Subscriber;
  /** Sends what means nothing, where there is such a thing: on workerd only output shows that a subscriber has left. */
  heartbeat(): void;
}

export interface SubscriptionLimits {
  /** What they read, in the plural. */
  what: string;
  perUser: number;
  inTotal: number;
}

/** Until then whoever has left is found out, where a beat can do that. */
const RETRY_AFTER_S = 15;

export class Subscriptions<T extends Subscription> {
  readonly #limits: SubscriptionLimits;
  readonly #open = new Set<T>();

  constructor(limits: SubscriptionLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * Throws OperationError where the account has changed meanwhile, and where too many read. To be asked right before the
   * stream is added, or many of one moment would pass.
   */
  assertAllowed(subscriber: Subscriber, cluster: Cluster | undefined): void {
    if (cluster && !isCurrent(subscriber, cluster))
      throw new OperationError('unauthenticated', 'The user has changed meanwhile: log in again.');
    const { what, perUser, inTotal } = this.#limits;
    const own = this.of(subscriber.userId);
    if (own.length >= perUser) {
      // That makes room for who tries again.
      for (const subscription of own) subscription.heartbeat();
      throw new OperationError('too-many', `You have ${perUser} ${what} open: close some, and try again.`, {
        retryAfterS: RETRY_AFTER_S,
      });
    }
    if (this.#open.size >= inTotal)
      throw new OperationError('unavailable', `Too many ${what} are open; try again later.`);
  }

  add(subscription: T): void {
    this.#open.add(subscription);
  }

  delete(subscription: T): void {
    this.#open.delete(subscription);
  }

  /** Those of a user, or all (null); a copy, so that they may end meanwhile. */
  of(userId: number | null): T[] {
    const all = [...this.#open];
    return userId === null ? all : all.filter(({ subscriber }) => subscriber.userId === userId);
  }

  /** Those whose user has changed so that what let it in lets it in no more. */
  withStaleCredentials(cluster: Cluster): T[] {
    return [...this.#open].filter(({ subscriber }) => !isCurrent(subscriber, cluster));
  }
}
