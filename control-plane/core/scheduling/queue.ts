/**
 * Owns those that wait for room, and the order in which they are offered it: by the priority of their users, then those of
 * the user with the fewest executions, then by the policy. What one user wants more than once with the same needs
 * stands in one line, since of a line the first fits or none does; a line is offered room again only when there is more.
 * Pure.
 */

import type { QueuePolicy } from '../model/scheduler-config.ts';
import type { CapacityIncrease } from './capacity-increase.ts';
import { type Comparator, lowerBound, type QueueItem, queuePolicyComparators } from './queue-policy.ts';
import type { ResourceDemand } from './resource-demand.ts';
import { type ClassQueue, type EquivalenceClass, UserQueue } from './user-queue.ts';

/** What a round hands out to be placed. */
export interface Candidate<T extends QueueItem> {
  readonly item: T;
  readonly demand: EquivalenceClass<T>;
}

/** What of a user decides where its executions stand. */
export interface FairShareKey {
  priority: number;
  /** Executions that have room. */
  executions: number;
}

/** What decides where the next of a user stands. */
interface Entry<T extends QueueItem> {
  readonly item: T;
  /** As it was when the entry took its place. */
  readonly fairShareKey: FairShareKey;
}

interface RoundEntry<T extends QueueItem> extends Entry<T>, Candidate<T> {
  readonly classQueue: ClassQueue<T>;
  /** The item of the user that was handed out before this one. */
  readonly after: T | null;
}

/** The progress of one round; a value for `beginRound` and `next` only. */
export interface Round<T extends QueueItem> {
  readonly fairShareKeyOf: (userId: number) => FairShareKey;
  readonly increase: CapacityIncrease | undefined;
  /** The next candidate of each user; the first to be handed out is last, to be popped. */
  entries: RoundEntry<T>[];
  /** The candidate handed out last, until `next` is called again. */
  current: RoundEntry<T> | undefined;
}

interface Location<T extends QueueItem> {
  readonly item: T;
  readonly classQueue: ClassQueue<T>;
}

export class Queue<T extends QueueItem> {
  readonly #compare: Comparator;
  readonly #classes = new Map<string, EquivalenceClass<T>>();
  /** By user. */
  readonly #userQueues = new Map<number, UserQueue<T>>();
  readonly #locations = new Map<number, Location<T>>();
  /** Rows with lines that are to be offered room. */
  readonly #active = new Set<UserQueue<T>>();
  /** Of offers: what becomes due in one of them is offered room in the next. */
  #round = 1;

  constructor(policy: QueuePolicy) {
    this.#compare = queuePolicyComparators[policy];
  }

  get size(): number {
    return this.#locations.size;
  }

  /** Whether some are to be offered room. */
  get isActive(): boolean {
    return this.#active.size > 0;
  }

  has(id: number): boolean {
    return this.#locations.has(id);
  }

  add(item: T, demand: ResourceDemand): void {
    const userQueue = this.#userQueues.get(item.userId) ?? new UserQueue(item.userId, this.#compare);
    this.#userQueues.set(item.userId, userQueue);
    const equivalenceClass = this.#classes.get(demand.key) ?? equivalenceClassOf<T>(demand);
    this.#classes.set(demand.key, equivalenceClass);
    const classQueue = userQueue.add(item, equivalenceClass);
    this.#locations.set(item.id, { item, classQueue });
    if (!equivalenceClass.unschedulable && classQueue.activeFromRound === 0)
      this.#setActive(classQueue, this.#round + 1);
  }

  /** One that does not wait changes nothing. */
  remove(id: number): void {
    const { item, classQueue } = this.#locations.get(id) ?? {};
    if (!item || !classQueue) return;
    const { userQueue, equivalenceClass } = classQueue;
    this.#locations.delete(id);
    userQueue.remove(item, classQueue);
    if (userQueue.active === 0) this.#active.delete(userQueue);
    if (userQueue.isEmpty) this.#userQueues.delete(userQueue.userId);
    if (equivalenceClass.classQueues.length === 0) this.#classes.delete(equivalenceClass.key);
  }

  /** A user may have more than before: what it waits for is offered room again. */
  requeueUser(userId: number): void {
    for (const classQueue of this.#userQueues.get(userId)?.classQueues ?? [])
      if (!classQueue.equivalenceClass.unschedulable && classQueue.activeFromRound === 0)
        this.#setActive(classQueue, this.#round + 1);
  }

  /**
   * Begins a round over all items that may be placed now, in order (`next`). If hosts have freed capacity (`increase`),
   * the round includes unschedulable items that may fit now.
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
   * The next candidate. By then the previous one has been removed from the queue if it was placed; if it was not, no other
   * item of its class queue is tried in this round.
   */
  next(round: Round<T>): Candidate<T> | undefined {
    const { fairShareKeyOf, increase, current } = round;
    if (current) this.#advance(round, current);
    round.current = undefined;
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

  /** Records that no host can take this demand: its class is skipped until hosts free capacity. */
  markUnschedulable({ demand }: Candidate<T>): void {
    demand.unschedulable = true;
    demand.round = this.#round;
    for (const classQueue of demand.classQueues) this.#setActive(classQueue, 0);
  }

  /** All that wait, as they would be started if there were room for all; with another one, as if it waited, too. */
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

  /** The one that was submitted first, of those of the highest priority whose needs pass `isEligible`. */
  oldest(
    fairShareKeyOf: (userId: number) => FairShareKey,
    isEligible: (item: T, demand: ResourceDemand) => boolean,
  ): T | undefined {
    let found: T | undefined;
    let priority = Number.NEGATIVE_INFINITY;
    for (const userQueue of this.#userQueues.values()) {
      const { priority: its } = fairShareKeyOf(userQueue.userId);
      if (its < priority) continue;
      const before = its > priority ? Number.POSITIVE_INFINITY : (found?.id ?? Number.POSITIVE_INFINITY);
      const first = userQueue.oldest(before, isEligible);
      if (!first) continue;
      found = first;
      priority = its;
    }
    return found;
  }

  /** Makes all class queues of an unschedulable class candidates of this round. */
  #retry(equivalenceClass: EquivalenceClass<T>): void {
    equivalenceClass.unschedulable = false;
    equivalenceClass.round = this.#round;
    for (const classQueue of equivalenceClass.classQueues) this.#setActive(classQueue, this.#round);
  }

  /** After a candidate was tried: its class queue stays active if the candidate was placed; the user's next item enters. */
  #advance(round: Round<T>, { item, demand, classQueue }: RoundEntry<T>): void {
    if (!demand.unschedulable && classQueue.items.length > 0 && classQueue.items[0] !== item)
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
    const item = classQueue?.items[0];
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

  #setActive(classQueue: ClassQueue<T>, from: number): void {
    const { userQueue } = classQueue;
    userQueue.setActive(classQueue, from);
    if (userQueue.active > 0) this.#active.add(userQueue);
    else this.#active.delete(userQueue);
  }

  /** Puts an entry among others of which the first to come is the last: it is popped. */
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

/** Written out, since a spread would take more memory. */
const equivalenceClassOf = <T extends QueueItem>({
  key,
  requirements,
  usage,
}: ResourceDemand): EquivalenceClass<T> => ({
  key,
  requirements,
  usage,
  unschedulable: false,
  round: 0,
  classQueues: NO_CLASS_QUEUES,
});

/** Never changed: most kinds have one line, in an array of that length. */
const NO_CLASS_QUEUES: readonly never[] = [];
