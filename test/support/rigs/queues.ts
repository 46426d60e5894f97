/** Owns a queue on a table for tests: who waits is given as ids and users, who takes room is said by the test. */

import { newHost } from '../../../control-plane/core/model/host.ts';
import type { QueuePolicy } from '../../../control-plane/core/model/scheduler-config.ts';
import { CapacityIncrease } from '../../../control-plane/core/scheduling/capacity-increase.ts';
import { freeCapacityOf } from '../../../control-plane/core/scheduling/free-capacity.ts';
import { Queue } from '../../../control-plane/core/scheduling/queue.ts';
import type { QueueItem } from '../../../control-plane/core/scheduling/queue-policy.ts';
import { demandOf } from '../../../control-plane/core/scheduling/resource-demand.ts';

interface Item extends QueueItem {
  /** Those with the same have the same needs. */
  cores: number;
}

type Given = Partial<Item> & { id: number };

interface Options {
  policy?: QueuePolicy;
  /** By user; others have 0. */
  priorities?: Record<number, number>;
  /** Executions that have room, by user; others have none. */
  executions?: Record<number, number>;
}

export function queueOf(given: readonly Given[], options: Options = {}) {
  const { policy = 'FIFO', priorities = {}, executions = {} } = options;
  const queue = new Queue<Item>(policy);
  const started = new Map(Object.entries(executions).map(([userId, count]) => [Number(userId), count]));
  const standingOf = (userId: number) => ({
    priority: priorities[userId] ?? 0,
    executions: started.get(userId) ?? 0,
  });
  const add = (one: Given) => {
    const item = { userId: 1, size: 0, timeSubmitMs: 0, cores: 1, ...one };
    queue.add(item, demandOf([{ requirement: { memoryBytes: 0, cores: item.cores, labels: [] } }], 1));
  };
  for (const one of given) add(one);
  return {
    queue,
    add,
    /** Ids of all that wait, in order. */
    order: () => queue.projectedOrder(standingOf).map(({ id }) => id),
    /** Has everything refused that is offered, and says what. */
    refused(growth?: CapacityIncrease): number[] {
      const ids: number[] = [];
      const round = queue.beginRound(standingOf, growth);
      for (let candidate = queue.next(round); candidate; candidate = queue.next(round)) {
        ids.push(candidate.item.id);
        queue.markUnschedulable(candidate);
      }
      return ids;
    },
    /** Ids in the order they are offered room; those whom `starts` says take it. */
    offered(starts: (item: Item) => boolean): number[] {
      const ids: number[] = [];
      const round = queue.beginRound(standingOf);
      for (let candidate = queue.next(round); candidate; candidate = queue.next(round)) {
        const { item } = candidate;
        ids.push(item.id);
        if (!starts(item)) continue;
        queue.remove(item.id);
        started.set(item.userId, standingOf(item.userId).executions + 1);
      }
      return ids;
    },
  };
}

/** A host came to have so many cores left. */
export const grownTo = (cores: number): CapacityIncrease =>
  new CapacityIncrease([{ ...newHost(1, 'one', 0), connected: true, cores, memoryBytes: 1 }], freeCapacityOf);
