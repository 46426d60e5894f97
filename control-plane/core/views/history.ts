/**
 * Owns the last hour of the cluster for charts: what ran, waited, was reserved and in use, noted when turns run. In memory
 * only: it costs no write, and begins anew with the coordinator. Pure.
 */

import { isReachable } from '../model/host.ts';
import type { Cluster } from '../state/cluster.ts';
import { type SchedulerSummary, schedulerSummaryOf } from './statistics.ts';

/** The cluster at one moment; amounts are those of the hosts that are connected. Memory in bytes. */
export interface Sample {
  atMs: number;
  /** Executions that start or run. */
  running: number;
  queued: number;
  memoryBytes: number;
  reservedMemoryBytes: number;
  /** Null where no agent tells. */
  usedMemoryBytes: number | null;
  cores: number;
  reservedCores: number;
  usedCores: number | null;
}

/** Between two samples, at least. */
export const SAMPLE_MS = 30_000;
export const HISTORY_MS = 60 * 60_000;
const MOST = HISTORY_MS / SAMPLE_MS;

export class History {
  #samples: Sample[] = [];

  /** To be called often: it does something every 30 s. */
  note(cluster: Cluster, nowMs: number): void {
    const last = this.#samples.at(-1);
    if (last && nowMs >= last.atMs && nowMs < last.atMs + SAMPLE_MS) return;
    // A clock that was set back leaves nothing behind that has not been yet.
    this.#samples = this.#samples.filter(({ atMs }) => atMs < nowMs).slice(1 - MOST);
    this.#samples.push(sampleOf(cluster, schedulerSummaryOf(cluster), nowMs));
  }

  /** Those of the hour before `last`, oldest first, and that. */
  samples(last: Sample): Sample[] {
    const { atMs: nowMs } = last;
    return [...this.#samples.filter(({ atMs }) => atMs < nowMs && atMs >= nowMs - HISTORY_MS), last];
  }
}

export function sampleOf(
  cluster: Cluster,
  { queue, running, hosts }: SchedulerSummary,
  atMs: number,
): Sample {
  const usages = [...cluster.hosts.values()].flatMap((host) =>
    isReachable(host) && host.usage ? [host.usage] : [],
  );
  const isKnown = usages.length > 0;
  return {
    atMs,
    running: running.executions,
    queued: queue.executions,
    memoryBytes: hosts.memoryBytes,
    reservedMemoryBytes: hosts.reservedMemoryBytes,
    usedMemoryBytes: isKnown ? usages.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0) : null,
    cores: hosts.cores,
    reservedCores: hosts.reservedCores,
    usedCores: isKnown ? usages.reduce((sum, { cores }) => sum + cores, 0) : null,
  };
}
