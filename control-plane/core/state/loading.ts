/**
 * Loading: an execution that waits has its description and services in memory only while a turn needs them
 * (COORD-5). Pure.
 */
import type { Execution } from '../model/execution.ts';
import type { Service } from '../model/service.ts';
import type { Description } from './changes.ts';
import type { Cluster } from './cluster.ts';

/** Adds description and services to an execution that waits. */
export function load(
  cluster: Cluster,
  execution: Execution,
  { text, application }: Description,
  services: readonly Service[],
): void {
  execution.description = text;
  execution.services = services;
  cluster.addServices(execution);
  cluster.loaded.set(execution, application);
}

/** Drops what `load` added, and what executions have that returned to the queue. All must be committed. */
export function unloadWaiting(cluster: Cluster): void {
  for (const execution of cluster.loaded.keys()) {
    if (execution.status !== 'queued' || execution.ending || execution.deleted) continue;
    cluster.dropServices(execution);
    execution.services = NO_SERVICES;
    execution.description = null;
  }
  cluster.loaded.clear();
}

const NO_SERVICES: readonly never[] = [];
