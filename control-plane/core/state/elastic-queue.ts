/** The queue of elastic services without a host, of running executions, by service. Pure. */
import type { Execution } from '../model/execution.ts';
import type { Service } from '../model/service.ts';
import { Queue } from '../scheduling/queue.ts';
import { demandOf } from '../scheduling/resource-demand.ts';
import type { QueuedElasticService } from '../scheduling/scheduler-state.ts';
import { DemandTable } from './demand-table.ts';

export class ElasticQueue extends Queue<QueuedElasticService> {
  readonly #demands = new DemandTable<QueuedElasticService>();
  /** By service id. */
  readonly #items = new Map<number, QueuedElasticService>();

  hasService(id: number): boolean {
    return this.#items.has(id);
  }

  addService(service: Service, execution: Execution): void {
    const { userId, size, timeSubmitMs } = execution;
    const demand = this.#demands.share(demandOf([service], 0));
    const item = { id: service.id, userId, size, timeSubmitMs, demand, execution, service };
    this.#items.set(service.id, item);
    this.add(item);
  }

  /** Has no effect if the service is not in the queue. */
  removeService(id: number): void {
    const item = this.#items.get(id);
    if (!item) return;
    this.#items.delete(id);
    this.remove(item);
    this.#demands.release(item.demand);
  }
}
