/**
 * The queue of executions, or of elastic services, that wait for capacity. The order is by the priority of
 * the user, then by fair share, then by the policy (SCHED-1). Items of one user with the same demand share a
 * class queue, which is tried again only when it may fit (SCHED-6). Pure.
 */

import type { ResourceDemand } from '../model/resources.ts';
import type { QueuePolicy } from '../model/scheduler-config.ts';
import type { CapacityIncrease } from './capacity-increase.ts';
import { type Comparator, lowerBound, type QueueItem, queuePolicyComparators } from './queue-policy.ts';
import { type ClassQueue, EquivalenceClass, UserQueue } from './user-queue.ts';

/** An item that a round hands out to be placed. */
export interface Candidate<T extends QueueItem> {
  readonly item: T;
  readonly demand: EquivalenceClass<T>;
}

/** What orders users among each other. */
export interface FairShareKey {
  priority: number;
  /** Executions that are placed. */
  executions: number;
}

/** The next item of a user, for the order among users. */
interface Entry<T extends QueueItem> {
  readonly item: T;
  /** The key by which the entry was sorted. */
  readonly fairShareKey: FairShareKey;
}

interface RoundEntry<T extends QueueItem> extends Entry<T>, Candidate<T> {
  readonly classQueue: ClassQueue<T>;
  /** The item of the same user after which this one was found. */
  readonly after: T | null;
}

/** The state of one round, for `next` only. */
export interface Round<T extends QueueItem> {
  readonly fairShareKeyOf: (userId: number) => FairShareKey;
  readonly increase: CapacityIncrease | undefined;
  /** The next candidate of each user. The first in order is last, so that it can be popped. */
  entries: RoundEntry<T>[];
  /** The candidate handed out last, until the next call of `next`. */
  current: RoundEntry<T> | undefined;
}

export class Queue<T extends QueueItem> {
  readonly #compare: Comparator;
  /** By user id. */
  readonly #userQueues = new Map<number, UserQueue<T>>();
  /** User queues with active class queues. */
  readonly #active = new Set<UserQueue<T>>();
  /** What becomes active during a round is tried in the next one. */
  #round = 1;
  #size = 0;

  constructor(policy: QueuePolicy) {
    this.#compare = queuePolicyComparators[policy];
  }

  get size(): number {
    return this.#size;
  }

  /** Whether a round may hand out candidates. */
  get isActive(): boolean {
    return this.#active.size > 0;
  }

  has(item: T): boolean {
    return this.#classQueueOf(item)?.has(item, this.#compare) === true;
  }

  /** The demand of the item must be an equivalence class. */
  add(item: T): void {
    const { demand } = item;
    if (!(demand instanceof EquivalenceClass)) throw new TypeError('the demand is not shared');
    const userQueue = this.#userQueues.get(item.userId) ?? new UserQueue(item.userId, this.#compare);
    this.#userQueues.set(item.userId, userQueue);
    const classQueue = userQueue.add(item, demand);
    this.#size += 1;
    if (!demand.unschedulable && classQueue.activeFromRound === 0)
      this.#setActive(classQueue, this.#round + 1);
  }

  /** Has no effect if the item is not in the queue. */
  remove(item: T): void {
    const classQueue = this.#classQueueOf(item);
    if (!classQueue?.has(item, this.#compare)) return;
    const { userQueue } = classQueue;
    this.#size -= 1;
    userQueue.remove(item, classQueue);
    if (userQueue.active === 0) this.#active.delete(userQueue);
    if (userQueue.isEmpty) this.#userQueues.delete(userQueue.userId);
  }

  /** The bound on placed instances allows more than before: all items are tried again. */
  requeueAll(): void {
    for (const userId of this.#userQueues.keys()) this.requeueUser(userId);
  }

  /** Items that may be placed soon after this one: those like it, its user's, and others, in this order. */
  *after(item: T): Generator<T> {
    const classQueue = this.#classQueueOf(item);
    if (!classQueue) return;
    yield* classQueue.items();
    for (const other of classQueue.userQueue.classQueues()) if (other !== classQueue) yield* other.items();
    for (const userQueue of this.#userQueues.values())
      if (userQueue !== classQueue.userQueue)
        for (const other of userQueue.classQueues()) yield* other.items();
  }

  /** The user's quota may allow more than before: its items are tried again. */
  requeueUser(userId: number): void {
    for (const classQueue of this.#userQueues.get(userId)?.classQueues() ?? [])
      if (!classQueue.equivalenceClass.unschedulable && classQueue.activeFromRound === 0)
        this.#setActive(classQueue, this.#round + 1);
  }

  /**
   * Begins a round over all items that may fit now (`next`). If hosts have freed capacity (`increase`), these
   * include items that were unschedulable.
   */
  beginRound(fairShareKeyOf: (userId: number) => FairShareKey, increase?: CapacityIncrease): Round<T> {
    this.#round++;
    const round: Round<T> = { fairShareKeyOf, increase, entries: [], current: undefined };
    const userQueues = [...(increase ? this.#userQueues.values() : this.#active)];
    round.entries = userQueues
      .map((userQueue) => this.#entryAfter(null, userQueue, round))
      .filter((entry) => entry !== undefined)
      .sort((a, b) => this.#compareEntries(b, a));
    return round;
  }

  /**
   * The next candidate in order. A placed candidate must be removed from the queue before the next call.
   * After one that was not placed, no other item of its class queue is tried in this round.
   */
  next(round: Round<T>): Candidate<T> | undefined {
    const { fairShareKeyOf, increase } = round;
    this.endTry(round);
    for (let entry = round.entries.pop(); entry; entry = round.entries.pop()) {
      const { classQueue, demand, fairShareKey } = entry;
      const { userQueue } = classQueue;
      const hasMoved = fairShareKeyOf(userQueue.userId).executions !== fairShareKey.executions;
      if (hasMoved || !this.#isCandidate(classQueue, increase)) {
        this.#insertAfter(entry.after, userQueue, round);
        continue;
      }
      if (demand.unschedulable) this.#retry(demand);
      this.#setActive(classQueue, 0);
      if (demand.round !== this.#round || increase?.mayFit(demand)) {
        round.current = entry;
        return entry;
      }
      this.markUnschedulable(entry);
      this.#advance(round, entry);
    }
    return undefined;
  }

  /**
   * Ends the try of the candidate handed out last. Must be called if a round ends before `next` returns
   * undefined: otherwise the items behind that candidate would not be tried again.
   */
  endTry(round: Round<T>): void {
    if (round.current) this.#advance(round, round.current);
    round.current = undefined;
  }

  /**
   * Records that no host can take this demand: its equivalence class is skipped until hosts free capacity.
   */
  markUnschedulable({ demand }: Candidate<T>): void {
    demand.unschedulable = true;
    demand.round = this.#round;
    for (const classQueue of demand.classQueues) this.#setActive(classQueue, 0);
  }

  /**
   * All items in the order in which they would be placed if there were capacity for all. `other` is included
   * as if it were queued.
   */
  projectedOrder(fairShareKeyOf: (userId: number) => FairShareKey, other?: T): T[] {
    const itemsOf = new Map(
      Array.from(this.#userQueues.values(), (userQueue) => [userQueue.userId, userQueue.items()]),
    );
    if (other) {
      const items = itemsOf.get(other.userId) ?? [];
      itemsOf.set(other.userId, items.toSpliced(lowerBound(items, other, this.#compare), 0, other));
    }
    const entries = Array.from(itemsOf, ([userId, items]) => {
      const rest = items.values();
      return { rest, item: rest.next().value as T, fairShareKey: { ...fairShareKeyOf(userId) } };
    }).sort((a, b) => this.#compareEntries(b, a));
    const order: T[] = [];
    for (let entry = entries.pop(); entry; entry = entries.pop()) {
      const { rest, item, fairShareKey } = entry;
      order.push(item);
      fairShareKey.executions += 1;
      const { value } = rest.next();
      if (value) this.#insert(entries, { rest, item: value, fairShareKey });
    }
    return order;
  }

  /** The eligible item that was submitted first, among those of the highest priority that has any. */
  oldest(
    fairShareKeyOf: (userId: number) => FairShareKey,
    isEligible: (item: T, demand: ResourceDemand) => boolean,
  ): T | undefined {
    let found: T | undefined;
    let priority = Number.NEGATIVE_INFINITY;
    for (const userQueue of this.#userQueues.values()) {
      const key = fairShareKeyOf(userQueue.userId);
      if (key.priority < priority) continue;
      const before =
        key.priority > priority ? Number.POSITIVE_INFINITY : (found?.id ?? Number.POSITIVE_INFINITY);
      const first = userQueue.oldest(before, isEligible);
      if (!first) continue;
      found = first;
      priority = key.priority;
    }
    return found;
  }

  #classQueueOf({ userId, demand }: T): ClassQueue<T> | undefined {
    const userQueue = this.#userQueues.get(userId);
    return userQueue && demand instanceof EquivalenceClass ? demand.of(userQueue) : undefined;
  }

  /** Makes all class queues of an unschedulable class active in this round. */
  #retry(equivalenceClass: EquivalenceClass<T>): void {
    equivalenceClass.unschedulable = false;
    equivalenceClass.round = this.#round;
    for (const classQueue of equivalenceClass.classQueues) this.#setActive(classQueue, this.#round);
  }

  /**
   * Continues after a tried candidate with the next item of its user. The class queue stays active if the
   * candidate was placed.
   */
  #advance(round: Round<T>, { item, demand, classQueue }: RoundEntry<T>): void {
    if (!demand.unschedulable && classQueue.first && classQueue.first !== item)
      this.#setActive(classQueue, this.#round);
    this.#insertAfter(item, classQueue.userQueue, round);
  }

  #insertAfter(after: T | null, userQueue: UserQueue<T>, round: Round<T>): void {
    const entry = this.#entryAfter(after, userQueue, round);
    if (entry) this.#insert(round.entries, entry);
  }

  #entryAfter(
    after: T | null,
    userQueue: UserQueue<T>,
    { fairShareKeyOf, increase }: Round<T>,
  ): RoundEntry<T> | undefined {
    const classQueue = userQueue.next(after, increase?.largestIncrease() ?? null, (one) =>
      this.#isCandidate(one, increase),
    );
    const item = classQueue?.first;
    if (!classQueue || !item) return undefined;
    const fairShareKey = fairShareKeyOf(userQueue.userId);
    return { item, demand: classQueue.equivalenceClass, classQueue, after, fairShareKey };
  }

  #isCandidate(
    { activeFromRound, equivalenceClass }: ClassQueue<T>,
    increase: CapacityIncrease | undefined,
  ): boolean {
    return equivalenceClass.unschedulable
      ? equivalenceClass.round !== this.#round && increase?.mayFit(equivalenceClass) === true
      : activeFromRound > 0 && activeFromRound <= this.#round;
  }

  #setActive(classQueue: ClassQueue<T>, fromRound: number): void {
    const { userQueue } = classQueue;
    userQueue.setActive(classQueue, fromRound);
    if (userQueue.active > 0) this.#active.add(userQueue);
    else this.#active.delete(userQueue);
  }

  /** Inserts an entry into entries of which the first in order is last. */
  #insert<E extends Entry<T>>(entries: E[], entry: E): void {
    const at = lowerBound(entries, entry, (a, b) => this.#compareEntries(b, a));
    entries.splice(at, 0, entry);
  }

  #compareEntries(a: Entry<T>, b: Entry<T>): number {
    return (
      b.fairShareKey.priority - a.fairShareKey.priority ||
      a.fairShareKey.executions - b.fairShareKey.executions ||
      this.#compare(a.item, b.item)
    );
  }
}
