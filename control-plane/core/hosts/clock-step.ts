/**
 * Owns what becomes of times that a clock which was ahead has noted, once it is right again: nothing waits longer than if it
 * had begun to wait now. Pure.
 */

import { MAX_BACKOFF_MS } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { Cluster } from '../state/cluster.ts';

/** Less is what a clock does while it is being kept right. */
const STEP_THRESHOLD_MS = 1_000;

/** At the beginning of each turn. The first one of a coordinator looks at what the one before has noted. */
export function handleClockStep(cluster: Cluster, nowMs: number): void {
  const isSetBack = nowMs < cluster.lastTurnMs - STEP_THRESHOLD_MS;
  cluster.lastTurnMs = nowMs;
  if (!isSetBack) return;
  bringStartsForward(cluster, nowMs + MAX_BACKOFF_MS);
  for (const host of cluster.hosts.values()) countFromNow(cluster, host, nowMs);
  const { reservation } = cluster;
  if (reservation?.dueMs)
    reservation.dueMs = Math.min(reservation.dueMs, nowMs + cluster.schedulerConfig.backfillReserveAfterMs);
}

function bringStartsForward(cluster: Cluster, latestMs: number): void {
  for (const execution of cluster.executions.values()) {
    if (execution.retryAtMs !== null && execution.retryAtMs > latestMs) {
      execution.retryAtMs = latestMs;
      cluster.touch(execution);
    }
    for (const service of execution.services) {
      if (service.restartAtMs === null || service.restartAtMs <= latestMs) continue;
      service.restartAtMs = latestMs;
      cluster.touch(service);
    }
  }
}

/** Silence that would begin in the future begins now: later than it did, so that no lease is taken for over too early. */
function countFromNow(cluster: Cluster, host: Host, nowMs: number): void {
  const { lastContactMs, silentSinceMs } = host;
  if (Math.max(lastContactMs, silentSinceMs ?? 0) <= nowMs) return;
  host.lastContactMs = Math.min(lastContactMs, nowMs);
  host.silentSinceMs = silentSinceMs && Math.min(silentSinceMs, nowMs);
  cluster.changes.hosts.add(host);
}
