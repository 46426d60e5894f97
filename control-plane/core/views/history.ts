/**
 * The cluster's history for charts: samples of the last hour, taken when turns run. The database has those of
 * earlier coordinators (coordinator/changes/saved-samples.ts). Pure.
 */

import { isReachable } from '../model/host.ts';
import type { Cluster } from '../state/cluster.ts';
import { type SchedulerSummary, schedulerSummaryOf } from './statistics.ts';

/**
 * The cluster at one moment. Amounts are totals of the connected hosts, and null while hosts are known and
 * none is connected, as after a start of the control plane. Memory in bytes.
 */
export interface Sample {
  atMs: number;
  /** Executions that start or run. */
  running: number;
  queued: number;
  memoryBytes: number | null;
  reservedMemoryBytes: number | null;
  /** Null if no agent reports it. */
  usedMemoryBytes: number | null;
  cores: number | null;
  reservedCores: number | null;
  usedCores: number | null;
}

/** A sample as the database has it. */
export interface SavedSample {
  kind: 'cluster' | 'hosts';
  atMs: number;
  /** JSON. */
  content: string;
}

/** The minimum time between two samples. */
export const SAMPLE_MS = 30_000;
export const HISTORY_MS = 60 * 60_000;
const MAX_SAMPLES = HISTORY_MS / SAMPLE_MS;

export class History {
  #samples: Sample[] = [];

  /** Callers may call this often; it takes at most one sample in 30 s. */
  note(cluster: Cluster, nowMs: number): void {
    const last = this.#samples.at(-1);
    if (last && nowMs >= last.atMs && nowMs < last.atMs + SAMPLE_MS) return;
    // If the clock was set back, samples of the future are dropped.
    this.#samples = this.#samples.filter(({ atMs }) => atMs < nowMs).slice(1 - MAX_SAMPLES);
    this.#samples.push(sampleOf(cluster, schedulerSummaryOf(cluster), nowMs));
  }

  clockStepped(stepMs: number): void {
    for (const sample of this.#samples) sample.atMs += stepMs;
  }

  /** What was sampled after `atMs`. */
  since(atMs: number): SavedSample[] {
    return this.#samples
      .filter((sample) => sample.atMs > atMs)
      .map((sample) => ({ kind: 'cluster', atMs: sample.atMs, content: JSON.stringify(sample) }));
  }

  /** Puts what is older than its own samples before them. */
  restore(saved: readonly SavedSample[]): void {
    const firstMs = this.#samples[0]?.atMs ?? Number.POSITIVE_INFINITY;
    const earlier = saved.filter(({ kind, atMs }) => kind === 'cluster' && atMs < firstMs);
    this.#samples.unshift(...earlier.map(({ atMs, content }) => ({ ...JSON.parse(content), atMs })));
  }

  /** The samples of the hour before `last`, oldest first, followed by `last`. */
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
  const isOutOfSight = hosts.known > 0 && hosts.connected === 0;
  const amount = (total: number) => (isOutOfSight ? null : total);
  return {
    atMs,
    running: running.executions,
    queued: queue.executions,
    memoryBytes: amount(hosts.memoryBytes),
    reservedMemoryBytes: amount(hosts.reservedMemoryBytes),
    usedMemoryBytes: isKnown ? usages.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0) : null,
    cores: amount(hosts.cores),
    reservedCores: amount(hosts.reservedCores),
    usedCores: isKnown ? usages.reduce((sum, { cores }) => sum + cores, 0) : null,
  };
}
