/**
 * Open streams of one kind: limits per user and in total, and the subscriptions whose user has changed. The
 * content of the streams does not matter here.
 */

import { OperationError } from '../../core/model/errors.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import { isCurrent, type Subscriber } from '../../core/streams/channel-subscriber.ts';

/** An open stream with its subscriber. */
export interface Subscription {
  readonly subscriber: Subscriber;
  /** Sends a frame without content, if the format has one: only that reveals some clients that have left. */
  heartbeat(): void;
}

export interface SubscriptionLimits {
  /** Plural noun for error messages. */
  what: string;
  perUser: number;
  inTotal: number;
}

/** By then, heartbeats have detected the subscribers that have left. */
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

  get maxSize(): number {
    return this.#limits.inTotal;
  }

  /**
   * Throws OperationError if the user has changed or a limit is reached. Must be called directly before
   * `add`; otherwise simultaneous streams could exceed the limit.
   */
  assertAllowed(subscriber: Subscriber, cluster: Cluster | undefined): void {
    if (cluster && !isCurrent(subscriber, cluster))
      throw new OperationError('unauthenticated', 'Your account has changed. Log in again.');
    const { what, perUser, inTotal } = this.#limits;
    const own = this.of(subscriber.userId);
    if (own.length >= perUser) {
      // Heartbeats detect subscribers that have left, so that a later attempt may succeed.
      for (const subscription of own) subscription.heartbeat();
      throw new OperationError(
        'too-many',
        `You have ${perUser} ${what} open, which is the limit. Close one and try again.`,
        {
          retryAfterS: RETRY_AFTER_S,
        },
      );
    }
    if (this.#open.size >= inTotal)
      throw new OperationError(
        'unavailable',
        `All users together have ${inTotal} ${what} open, which is the limit. Try again later.`,
      );
  }

  add(subscription: T): void {
    this.#open.add(subscription);
  }

  delete(subscription: T): void {
    this.#open.delete(subscription);
  }

  /**
   * The subscriptions of a user (null: of all users). The array is a copy: subscriptions may end during
   * iteration.
   */
  of(userId: number | null): T[] {
    const all = [...this.#open];
    return userId === null ? all : all.filter(({ subscriber }) => subscriber.userId === userId);
  }

  /** Subscriptions whose user has changed in such a way that their admission no longer holds. */
  withStaleCredentials(cluster: Cluster): T[] {
    return [...this.#open].filter(({ subscriber }) => !isCurrent(subscriber, cluster));
  }
}
