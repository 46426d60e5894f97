/** A queue on a test rig: items are given as ids and users, and the test decides which are placed. */

import { newHost } from '../../../control-plane/core/model/host.ts';
import type { QueuePolicy } from '../../../control-plane/core/model/scheduler-config.ts';
import { CapacityIncrease } from '../../../control-plane/core/scheduling/capacity-increase.ts';
import { freeCapacityOf } from '../../../control-plane/core/scheduling/free-capacity.ts';
import { Queue } from '../../../control-plane/core/scheduling/queue.ts';
import type { QueueItem } from '../../../control-plane/core/scheduling/queue-policy.ts';
import { demandOf } from '../../../control-plane/core/scheduling/resource-demand.ts';
import { DemandTable } from '../../../control-plane/core/state/demand-table.ts';

interface Item extends QueueItem {
  /** Items with the same number of cores have the same demand. */
  cores: number;
}

type Candidate = NonNullable<ReturnType<Queue<Item>['next']>>;
type Given = Partial<Item> & { id: number };

interface Options {
  policy?: QueuePolicy;
  /** By user id; the default is 0. */
  priorities?: Record<number, number>;
  /** Placed executions by user id; the default is none. */
  executions?: Record<number, number>;
}

export function queueOf(given: readonly Given[], options: Options = {}) {
  const { policy = 'FIFO', priorities = {}, executions = {} } = options;
  const queue = new Queue<Item>(policy);
  const demands = new DemandTable<Item>();
  const items = new Map<number, Item>();
  const placed = new Map(Object.entries(executions).map(([userId, count]) => [Number(userId), count]));
  const fairShareKeyOf = (userId: number) => ({
    priority: priorities[userId] ?? 0,
    executions: placed.get(userId) ?? 0,
  });
  const add = (one: Given) => {
    const { cores = 1 } = one;
    const demand = demands.share(
      demandOf([{ requirement: { memoryBytes: 0, limitBytes: 0, cores, labels: [], weight: 1 } }], 1),
    );
    const item = { userId: 1, size: 0, timeSubmitMs: 0, ...one, cores, demand };
    items.set(item.id, item);
    queue.add(item);
  };
  for (const one of given) add(one);
  /** Runs a round, and returns the ids of the candidates, in order. */
  const round = (decide: (candidate: Candidate) => void, increase?: CapacityIncrease): number[] => {
    const ids: number[] = [];
    const begun = queue.beginRound(fairShareKeyOf, increase);
    for (let candidate = queue.next(begun); candidate; candidate = queue.next(begun)) {
      ids.push(candidate.item.id);
      decide(candidate);
    }
    return ids;
  };
  return {
    queue,
    add,
    /** Has no effect if the item is not in the queue. */
    remove(id: number) {
      const item = items.get(id);
      if (item) queue.remove(item);
    },
    order: () => queue.projectedOrder(fairShareKeyOf).map(({ id }) => id),
    /** Runs a round, marks every candidate as unschedulable, and returns their ids. */
    failRound(increase?: CapacityIncrease): number[] {
      return round((candidate) => queue.markUnschedulable(candidate), increase);
    },
    /**
     * Runs a round and returns the ids of the candidates, in order. Those for which `isPlaced` holds are
     * placed.
     */
    runRound(isPlaced: (item: Item) => boolean): number[] {
      return round(({ item }) => {
        if (!isPlaced(item)) return;
        queue.remove(item);
        placed.set(item.userId, fairShareKeyOf(item.userId).executions + 1);
      });
    },
  };
}

/** A host that now has this many free cores. */
export const increasedTo = (cores: number): CapacityIncrease =>
  new CapacityIncrease([{ ...newHost(1, 'one', 0), connected: true, cores, memoryBytes: 1 }], freeCapacityOf);
