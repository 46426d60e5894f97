/** Which executions and elastic services are in the queues. Pure. */
import type { Execution } from '../model/execution.ts';
import type { Queue } from '../scheduling/queue.ts';
import type { SchedulerState } from '../scheduling/scheduler-state.ts';
import type { ElasticQueue } from './elastic-queue.ts';

export interface Queues {
  readonly queue: Queue<Execution>;
  readonly elastic: ElasticQueue;
}

/**
 * Queues an execution, and each of its elastic services, if it may be placed at `nowMs`; otherwise removes it
 * from the queue.
 */
export function updateQueues({ queue, elastic }: Queues, execution: Execution, nowMs: number): void {
  const { status, ending, retryAtMs, services } = execution;
  if (status === 'queued' && !ending && (retryAtMs ?? 0) <= nowMs) {
    if (!queue.has(execution)) queue.add(execution);
  } else queue.remove(execution);
  for (const service of services) {
    if (service.essential) continue;
    const idle = !service.placed && service.status === 'inactive' && (service.restartAtMs ?? 0) <= nowMs;
    if (status !== 'running' || ending || !idle) elastic.removeService(service.id);
    else if (!elastic.hasService(service.id)) elastic.addService(service, execution);
  }
}

/** Tries again what the bound on placed instances prevented, once it allows one of them. */
export function retryOverBound(state: SchedulerState): void {
  const { leastOverBound, placedWeight, schedulerConfig, queue, elastic } = state;
  if (leastOverBound === null || placedWeight + leastOverBound > schedulerConfig.bounds.placedInstances)
    return;
  state.leastOverBound = null;
  queue.requeueAll();
  elastic.requeueAll();
}
