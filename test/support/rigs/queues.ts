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
      const ids: number[] = [];
      const round = queue.beginRound(fairShareKeyOf, increase);
      for (let candidate = queue.next(round); candidate; candidate = queue.next(round)) {
        ids.push(candidate.item.id);
        queue.markUnschedulable(candidate);
      }
      return ids;
    },
    /**
     * Runs a round and returns the ids of the candidates, in order. Those for which `isPlaced` holds are
     * placed.
     */
    runRound(isPlaced: (item: Item) => boolean): number[] {
      const ids: number[] = [];
      const round = queue.beginRound(fairShareKeyOf);
      for (let candidate = queue.next(round); candidate; candidate = queue.next(round)) {
        const { item } = candidate;
        ids.push(item.id);
        if (!isPlaced(item)) continue;
        queue.remove(item);
        placed.set(item.userId, fairShareKeyOf(item.userId).executions + 1);
      }
      return ids;
    },
  };
}

/** A host that now has this many free cores. */
export const increasedTo = (cores: number): CapacityIncrease =>
  new CapacityIncrease([{ ...newHost(1, 'one', 0), connected: true, cores, memoryBytes: 1 }], freeCapacityOf);
