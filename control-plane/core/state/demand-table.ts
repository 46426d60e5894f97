/** Demand table: one equivalence class for all equal demands of live executions, which may be many. Pure. */
import type { ResourceDemand } from '../model/resources.ts';
import type { QueueItem } from '../scheduling/queue-policy.ts';
import { compareDemands, compareLabels, Demand, type LabelLists } from '../scheduling/resource-demand.ts';
import { EquivalenceClass } from '../scheduling/user-queue.ts';
import { SortedTable } from './sorted-table.ts';

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
