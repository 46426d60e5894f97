/**
 * The queue of one user: a class queue for each distinct demand, ordered by the policy. Class queues are
 * divided into chunks that record their least demand, so that a search for what may fit skips whole chunks
 * (SCHED-6, SCHED-7). Pure.
 */

import type { Resources } from '../model/resources.ts';
import { EPSILON } from './free-capacity.ts';
import { type Comparator, lowerBound, type QueueItem, queuePolicyComparators } from './queue-policy.ts';
import type { ResourceDemand } from './resource-demand.ts';

/** All items with the same demand, of all users. */
export interface EquivalenceClass<T extends QueueItem> extends ResourceDemand {
  /** True if no host could take it when it was last tried, and no host has freed enough since. */
  unschedulable: boolean;
  /** The round in which it was last marked unschedulable, or retried after hosts freed capacity. */
  round: number;
  classQueues: readonly ClassQueue<T>[];
}

/** All items of one user with the same demand: if the first does not fit, none does. */
export interface ClassQueue<T extends QueueItem> {
  readonly userQueue: UserQueue<T>;
  readonly equivalenceClass: EquivalenceClass<T>;
  /** In the order of the policy; never empty while the class queue is in its user queue. */
  readonly items: T[];
  /** The item submitted first, if it has been determined. */
  oldest: T | undefined;
  /** The first round in which it may be tried; 0 if it may not. */
  activeFromRound: number;
}

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
  readonly #classQueues = new Map<EquivalenceClass<T>, ClassQueue<T>>();
  /** The class queue of the item submitted first, if it has been determined. */
  #oldest: ClassQueue<T> | undefined;

  constructor(userId: number, compare: Comparator) {
    this.userId = userId;
    this.#compare = compare;
  }

  get isEmpty(): boolean {
    return this.#classQueues.size === 0;
  }

  get classQueues(): Iterable<ClassQueue<T>> {
    return this.#classQueues.values();
  }

  add(item: T, equivalenceClass: EquivalenceClass<T>): ClassQueue<T> {
    if (this.#oldest && item.id < this.#oldestOf(this.#oldest).id) this.#oldest = undefined;
    const classQueue = this.#classQueues.get(equivalenceClass);
    if (!classQueue) return this.#open(item, equivalenceClass);
    if (classQueue.oldest && item.id < classQueue.oldest.id) classQueue.oldest = item;
    const at = lowerBound(classQueue.items, item, this.#compare);
    if (at === 0) this.#detach(classQueue);
    classQueue.items.splice(at, 0, item);
    if (at === 0) this.#insert(classQueue);
    return classQueue;
  }

  /** Removes an item, and its class queue with its last item. */
  remove(item: T, classQueue: ClassQueue<T>): void {
    const { items, equivalenceClass } = classQueue;
    if (classQueue === this.#oldest) this.#oldest = undefined;
    if (item === classQueue.oldest) classQueue.oldest = undefined;
    const at = lowerBound(items, item, this.#compare);
    if (at > 0) {
      items.splice(at, 1);
      return;
    }
    this.setActive(classQueue, items.length > 1 ? classQueue.activeFromRound : 0);
    this.#detach(classQueue);
    items.shift();
    if (items.length > 0) {
      this.#insert(classQueue);
      return;
    }
    this.#classQueues.delete(equivalenceClass);
    equivalenceClass.classQueues = equivalenceClass.classQueues.filter((other) => other !== classQueue);
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
      .flatMap(({ items }) => items)
      .sort(this.#compare);
  }

  /** The eligible item with the lowest id below `before`: the one submitted first. */
  oldest(before: number, isEligible: (item: T, demand: ResourceDemand) => boolean): T | undefined {
    const oldestId = (classQueue: ClassQueue<T>) => this.#oldestOf(classQueue).id;
    this.#oldest ??= [...this.#classQueues.values()].reduce((a, b) => (oldestId(b) < oldestId(a) ? b : a));
    const first = this.#oldestOf(this.#oldest);
    if (first.id >= before) return undefined;
    if (isEligible(first, this.#oldest.equivalenceClass)) return first;
    let found: T | undefined;
    for (const classQueue of this.#classQueues.values()) {
      const item = this.#oldestOf(classQueue);
      if (item.id < (found?.id ?? before) && isEligible(item, classQueue.equivalenceClass)) found = item;
    }
    return found;
  }

  #oldestOf(classQueue: ClassQueue<T>): T {
    if (this.#compare === queuePolicyComparators.FIFO) return firstOf(classQueue);
    classQueue.oldest ??= classQueue.items.reduce((a, b) => (b.id < a.id ? b : a));
    return classQueue.oldest;
  }

  #open(item: T, equivalenceClass: EquivalenceClass<T>): ClassQueue<T> {
    const classQueue = {
      userQueue: this,
      equivalenceClass,
      items: [item],
      oldest: undefined,
      activeFromRound: 0,
    };
    this.#classQueues.set(equivalenceClass, classQueue);
    // Not a spread: that allocates capacity for sixteen more.
    equivalenceClass.classQueues = equivalenceClass.classQueues.concat(classQueue);
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

const firstOf = <T extends QueueItem>({ items }: ClassQueue<T>): T => items[0] as T;

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
  for (const { memoryBytes, cores } of equivalenceClass.requirements) {
    chunk.minMemoryBytes = Math.min(chunk.minMemoryBytes, memoryBytes);
    chunk.minCores = Math.min(chunk.minCores, cores);
  }
}

const mayContain = <T extends QueueItem>(
  { minMemoryBytes, minCores }: Chunk<T>,
  largest: Resources,
): boolean => minMemoryBytes <= largest.memoryBytes && minCores <= largest.cores + EPSILON;
