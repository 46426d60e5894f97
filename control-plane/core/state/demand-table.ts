/** Demand table: one equivalence class for all equal demands of live executions, which may be many. Pure. */
import type { ResourceDemand } from '../model/resources.ts';
import { lowerBound, type QueueItem } from '../scheduling/queue-policy.ts';
import { compareDemands, compareLabels, Demand, type LabelLists } from '../scheduling/resource-demand.ts';
import { EquivalenceClass } from '../scheduling/user-queue.ts';

/** Labels that several classes share. */
interface SharedLabels {
  readonly lists: LabelLists;
  /** How many classes have them. */
  uses: number;
}

export class DemandTable<T extends QueueItem> {
  readonly #classes = new SortedTable<Demand>(compareDemands);
  readonly #labels = new SortedTable<SharedLabels>((a, b) => compareLabels(a.lists, b.lists));

  /** The class of all demands that are equal to this one. Each call needs a later `release`. */
  share(demand: ResourceDemand): EquivalenceClass<T> {
    if (!(demand instanceof Demand)) throw new TypeError('the demand comes from elsewhere');
    const found = this.#classes.find(demand) as EquivalenceClass<T> | undefined;
    const equivalenceClass = found ?? this.#open(demand);
    equivalenceClass.uses += 1;
    return equivalenceClass;
  }

  release(demand: ResourceDemand): void {
    if (!(demand instanceof EquivalenceClass)) return;
    demand.uses -= 1;
    if (demand.uses > 0) return;
    this.#classes.remove(demand);
    if (demand.labels) this.#releaseLabels(demand.labels);
  }

  #open({ numbers, labels, executions }: Demand): EquivalenceClass<T> {
    const one = new EquivalenceClass<T>(numbers, labels && this.#shareLabels(labels), executions);
    this.#classes.add(one);
    return one;
  }

  #shareLabels(lists: LabelLists): LabelLists {
    const wanted = { lists, uses: 0 };
    const found = this.#labels.find(wanted);
    if (!found) this.#labels.add(wanted);
    const shared = found ?? wanted;
    shared.uses += 1;
    return shared.lists;
  }

  #releaseLabels(lists: LabelLists): void {
    const shared = this.#labels.find({ lists, uses: 0 });
    if (shared && --shared.uses === 0) this.#labels.remove(shared);
  }
}

const MAX_CHUNK = 256;

/**
 * Finds things by an order, with little memory and without a key for each. Unlike with hashes, no user can
 * choose things that make it slow.
 */
export class SortedTable<T> {
  readonly #compare: (a: T, b: T) => number;
  /** In order; none is empty. */
  readonly #chunks: T[][] = [];

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  /** The one in the table that is equal to `wanted`. */
  find(wanted: T): T | undefined {
    const [number, at] = this.#locate(wanted);
    const found = this.#chunks[number]?.[at];
    return found !== undefined && this.#compare(found, wanted) === 0 ? found : undefined;
  }

  /** The table must have no equal one. */
  add(one: T): void {
    let [number, at] = this.#locate(one);
    if (number > 0 && number === this.#chunks.length) at = this.#chunks[--number]?.length ?? 0;
    const chunk = this.#chunks[number];
    if (!chunk) this.#chunks.push([one]);
    else if (chunk.length < MAX_CHUNK) chunk.splice(at, 0, one);
    else {
      const all = chunk.toSpliced(at, 0, one);
      // Many arrive in ascending order: then the chunk stays full.
      const half = at === MAX_CHUNK ? at : MAX_CHUNK / 2;
      this.#chunks.splice(number, 1, all.slice(0, half), all.slice(half));
    }
  }

  remove(one: T): void {
    const [number, at] = this.#locate(one);
    const chunk = this.#chunks[number];
    if (chunk?.[at] !== one) return;
    chunk.splice(at, 1);
    if (chunk.length === 0) this.#chunks.splice(number, 1);
  }

  /** The chunk, and the position in it, of the first one that is not less than `wanted`. */
  #locate(wanted: T): [number, number] {
    const number = lowerBound(this.#chunks, wanted, (chunk, one) => this.#compare(chunk.at(-1) as T, one));
    return [number, lowerBound(this.#chunks[number] ?? [], wanted, this.#compare)];
  }
}
