/**
 * The queue of one user: a class queue for each distinct demand, ordered by the policy. Class queues are
 * divided into chunks that record their least demand, so that a search for what may fit skips whole chunks
 * (SCHED-6, SCHED-7). Pure.
 */

import type { ResourceDemand, Resources } from '../model/resources.ts';
import { EPSILON } from './free-capacity.ts';
import { type Comparator, lowerBound, type QueueItem, queuePolicyComparators } from './queue-policy.ts';
import { Demand } from './resource-demand.ts';

/** All items with the same demand, of all users. */
export class EquivalenceClass<T extends QueueItem> extends Demand {
  /** How many executions share it, also those that do not wait. */
  uses = 0;
  /** True if no host could take it when it was last tried, and no host has freed enough since. */
  unschedulable = false;
  /** The round in which it was last marked unschedulable, or retried after hosts freed capacity. */
  round = 0;
  /** By user. A single one has no map: most classes have one, if many differ. */
  #classQueues: ClassQueue<T> | Map<UserQueue<T>, ClassQueue<T>> | null = null;

  get classQueues(): Iterable<ClassQueue<T>> {
    const all = this.#classQueues;
    return all instanceof Map ? all.values() : all ? [all] : [];
  }

  of(userQueue: UserQueue<T>): ClassQueue<T> | undefined {
    const all = this.#classQueues;
    if (all instanceof Map) return all.get(userQueue);
    return all?.userQueue === userQueue ? all : undefined;
  }

  add(classQueue: ClassQueue<T>): void {
    const all = this.#classQueues;
    if (all instanceof Map) all.set(classQueue.userQueue, classQueue);
    else if (all) this.#classQueues = new Map([all, classQueue].map((one) => [one.userQueue, one]));
    else this.#classQueues = classQueue;
  }

  remove(classQueue: ClassQueue<T>): void {
    const all = this.#classQueues;
    if (all instanceof Map) all.delete(classQueue.userQueue);
    else this.#classQueues = null;
    if (all instanceof Map && all.size > 0) return;
    this.#classQueues = null;
    this.unschedulable = false;
    this.round = 0;
  }
}

/** All items of one user with the same demand: if the first does not fit, none does. */
export class ClassQueue<T extends QueueItem> {
  readonly userQueue: UserQueue<T>;
  readonly equivalenceClass: EquivalenceClass<T>;
  /** In the order of the policy. Never undefined while the class queue is in its user queue. */
  first: T | undefined;
  /** The others. */
  #rest: T[] = NONE;
  /** The item submitted first, if it has been determined. */
  oldest: T | undefined = undefined;
  /** The first round in which it may be tried; 0 if it may not. */
  activeFromRound = 0;

  constructor(userQueue: UserQueue<T>, equivalenceClass: EquivalenceClass<T>, first: T) {
    this.userQueue = userQueue;
    this.equivalenceClass = equivalenceClass;
    this.first = first;
  }

  /** In the order of the policy. */
  *items(): Generator<T> {
    if (this.first) yield this.first;
    yield* this.#rest;
  }

  get isSingle(): boolean {
    return this.#rest.length === 0;
  }

  has(item: T, compare: Comparator): boolean {
    return item === this.first || this.#rest[lowerBound(this.#rest, item, compare)] === item;
  }

  add(item: T, compare: Comparator): void {
    const isFirst = this.first && compare(item, this.first) < 0;
    const later = isFirst ? this.first : item;
    if (isFirst) this.first = item;
    if (this.#rest === NONE) this.#rest = [];
    if (later) this.#rest.splice(lowerBound(this.#rest, later, compare), 0, later);
  }

  remove(item: T, compare: Comparator): void {
    if (item === this.oldest) this.oldest = undefined;
    if (item === this.first) this.first = this.#rest.shift();
    else this.#rest.splice(lowerBound(this.#rest, item, compare), 1);
  }
}

/** Shared and never changed. */
const NONE: never[] = [];

interface Chunk<T extends QueueItem> {
  readonly classQueues: ClassQueue<T>[];
  /** How many of the class queues are active. */
  active: number;
  /** No item of the chunk requires less memory, or less cores, than these. */
  minMemoryBytes: number;
  minCores: number;
}

/** Capacity of a chunk. */
const MAX_CLASS_QUEUES = 64;

export class UserQueue<T extends QueueItem> {
  readonly userId: number;
  /** How many class queues are active. */
  active = 0;
  readonly #compare: Comparator;
  readonly #chunks: Chunk<T>[] = [];
  /** The class queue of the item submitted first, if it has been determined. */
  #oldest: ClassQueue<T> | undefined;

  constructor(userId: number, compare: Comparator) {
    this.userId = userId;
    this.#compare = compare;
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0;
  }

  *classQueues(): Generator<ClassQueue<T>> {
    for (const { classQueues } of this.#chunks) yield* classQueues;
  }

  add(item: T, equivalenceClass: EquivalenceClass<T>): ClassQueue<T> {
    if (this.#oldest && item.id < this.#oldestOf(this.#oldest).id) this.#oldest = undefined;
    const classQueue = equivalenceClass.of(this);
    if (!classQueue) return this.#open(item, equivalenceClass);
    if (classQueue.oldest && item.id < classQueue.oldest.id) classQueue.oldest = item;
    const isFirst = this.#compare(item, firstOf(classQueue)) < 0;
    if (isFirst) this.#detach(classQueue);
    classQueue.add(item, this.#compare);
    if (isFirst) this.#insert(classQueue);
    return classQueue;
  }

  /** Removes an item, and its class queue with its last item. */
  remove(item: T, classQueue: ClassQueue<T>): void {
    if (classQueue === this.#oldest) this.#oldest = undefined;
    if (item !== classQueue.first) {
      classQueue.remove(item, this.#compare);
      return;
    }
    if (classQueue.isSingle) this.setActive(classQueue, 0);
    this.#detach(classQueue);
    classQueue.remove(item, this.#compare);
    if (classQueue.first) this.#insert(classQueue);
    else classQueue.equivalenceClass.remove(classQueue);
  }

  /** Makes a class queue active from a round on; 0 makes it inactive. */
  setActive(classQueue: ClassQueue<T>, fromRound: number): void {
    const change = Number(fromRound > 0) - Number(classQueue.activeFromRound > 0);
    classQueue.activeFromRound = fromRound;
    if (change === 0) return;
    this.active += change;
    const chunk = this.#chunks[this.#locate(firstOf(classQueue))[0]];
    if (chunk) chunk.active += change;
  }

  /**
   * The first class queue after `after` for which `isCandidate` holds. Class queues that are not active are
   * examined only in chunks that may contain a demand within `largest`.
   */
  next(
    after: T | null,
    largest: Resources | null,
    isCandidate: (classQueue: ClassQueue<T>) => boolean,
  ): ClassQueue<T> | undefined {
    let [number, at] = after ? this.#locate(after) : [0, 0];
    for (let chunk = this.#chunks[number]; chunk; chunk = this.#chunks[++number]) {
      if (chunk.active > 0 || (largest && mayContain(chunk, largest))) {
        for (let classQueue = chunk.classQueues[at]; classQueue; classQueue = chunk.classQueues[++at])
          if (firstOf(classQueue) !== after && isCandidate(classQueue)) return classQueue;
      }
      at = 0;
    }
    return undefined;
  }

  /** All items, in the order of the policy. */
  items(): T[] {
    return this.#chunks
      .flatMap(({ classQueues }) => classQueues)
      .flatMap((classQueue) => [...classQueue.items()])
      .sort(this.#compare);
  }

  /** The eligible item with the lowest id below `before`: the one submitted first. */
  oldest(before: number, isEligible: (item: T, demand: ResourceDemand) => boolean): T | undefined {
    const oldestId = (classQueue: ClassQueue<T>) => this.#oldestOf(classQueue).id;
    this.#oldest ??= [...this.classQueues()].reduce((a, b) => (oldestId(b) < oldestId(a) ? b : a));
    const first = this.#oldestOf(this.#oldest);
    if (first.id >= before) return undefined;
    if (isEligible(first, this.#oldest.equivalenceClass)) return first;
    let found: T | undefined;
    for (const { classQueues } of this.#chunks)
      for (const classQueue of classQueues) {
        const item = this.#oldestOf(classQueue);
        if (item.id < (found?.id ?? before) && isEligible(item, classQueue.equivalenceClass)) found = item;
      }
    return found;
  }

  #oldestOf(classQueue: ClassQueue<T>): T {
    if (this.#compare === queuePolicyComparators.FIFO) return firstOf(classQueue);
    classQueue.oldest ??= [...classQueue.items()].reduce((a, b) => (b.id < a.id ? b : a));
    return classQueue.oldest;
  }

  #open(item: T, equivalenceClass: EquivalenceClass<T>): ClassQueue<T> {
    const classQueue = new ClassQueue(this, equivalenceClass, item);
    equivalenceClass.add(classQueue);
    this.#insert(classQueue);
    return classQueue;
  }

  /** Inserts a class queue where its first item belongs. */
  #insert(classQueue: ClassQueue<T>): void {
    const chunks = this.#chunks;
    let [number, at] = this.#locate(firstOf(classQueue));
    if (number > 0 && number === chunks.length) at = chunks[--number]?.classQueues.length ?? 0;
    const chunk = chunks[number];
    if (chunk && chunk.classQueues.length < MAX_CLASS_QUEUES) {
      chunk.classQueues.splice(at, 0, classQueue);
      include(chunk, classQueue);
      return;
    }
    const classQueues = chunk?.classQueues.toSpliced(at, 0, classQueue) ?? [classQueue];
    // Most arrive in ascending order: then the previous chunk stays full.
    const half = at === MAX_CLASS_QUEUES ? at : MAX_CLASS_QUEUES / 2;
    const halves = chunk ? [classQueues.slice(0, half), classQueues.slice(half)] : [classQueues];
    chunks.splice(number, 1, ...halves.map(chunkOf));
  }

  /** Removes a class queue from its chunk. */
  #detach(classQueue: ClassQueue<T>): void {
    const [number, at] = this.#locate(firstOf(classQueue));
    const classQueues = this.#chunks[number]?.classQueues.toSpliced(at, 1) ?? [];
    this.#chunks.splice(number, 1, ...(classQueues.length > 0 ? [chunkOf(classQueues)] : []));
  }

  /**
   * The chunk, and the position in it, of the first class queue whose first item is `item` or a later one.
   */
  #locate(item: T): [number, number] {
    const number = lowerBound(this.#chunks, item, ({ classQueues }, wanted) =>
      this.#compare(firstOf(classQueues.at(-1) as ClassQueue<T>), wanted),
    );
    const classQueues = this.#chunks[number]?.classQueues ?? [];
    return [
      number,
      lowerBound(classQueues, item, (classQueue, wanted) => this.#compare(firstOf(classQueue), wanted)),
    ];
  }
}

const firstOf = <T extends QueueItem>({ first }: ClassQueue<T>): T => first as T;

function chunkOf<T extends QueueItem>(classQueues: ClassQueue<T>[]): Chunk<T> {
  const [minMemoryBytes, minCores] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  const chunk = { classQueues, active: 0, minMemoryBytes, minCores };
  for (const classQueue of classQueues) include(chunk, classQueue);
  return chunk;
}

function include<T extends QueueItem>(
  chunk: Chunk<T>,
  { activeFromRound, equivalenceClass }: ClassQueue<T>,
): void {
  if (activeFromRound > 0) chunk.active += 1;
  const { memoryBytes, cores } = equivalenceClass.least;
  chunk.minMemoryBytes = Math.min(chunk.minMemoryBytes, memoryBytes);
  chunk.minCores = Math.min(chunk.minCores, cores);
}

const mayContain = <T extends QueueItem>(
  { minMemoryBytes, minCores }: Chunk<T>,
  largest: Resources,
): boolean => minMemoryBytes <= largest.memoryBytes && minCores <= largest.cores + EPSILON;
