/**
 * Handles a backward clock step: deadlines recorded by a clock that ran ahead are capped, so that nothing
 * waits longer than if its wait had started now (C125). Pure.
 */

import { MAX_BACKOFF_MS } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { Cluster } from '../state/cluster.ts';

/** Smaller steps are the normal corrections of a synchronised clock. */
const STEP_THRESHOLD_MS = 1_000;

/** Runs at the start of each turn. The first turn of a coordinator corrects what its predecessor recorded. */
export function handleClockStep(cluster: Cluster, nowMs: number): void {
  const isSetBack = nowMs < cluster.lastTurnMs - STEP_THRESHOLD_MS;
  cluster.lastTurnMs = nowMs;
  if (!isSetBack) return;
  capRetries(cluster, nowMs + MAX_BACKOFF_MS);
  restartTimeLimits(cluster, nowMs);
  for (const host of cluster.hosts.values()) capSilence(cluster, host, nowMs);
  const { reservation } = cluster;
  if (reservation?.dueMs)
    reservation.dueMs = Math.min(reservation.dueMs, nowMs + cluster.schedulerConfig.backfillReserveAfterMs);
}

function capRetries(cluster: Cluster, latestMs: number): void {
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

/** The time limit of an execution that was placed in the future counts from now on. */
function restartTimeLimits(cluster: Cluster, nowMs: number): void {
  for (const execution of cluster.admitted) {
    if (execution.timeLimitS === null || (execution.timePlaceMs ?? 0) <= nowMs) continue;
    execution.timePlaceMs = nowMs;
    cluster.touch(execution);
  }
}

/**
 * Silence with a future start restarts now. That is later than the true start, so no lease is considered
 * expired too early.
 */
function capSilence(cluster: Cluster, host: Host, nowMs: number): void {
  const { lastContactMs, silentSinceMs } = host;
  if (Math.max(lastContactMs, silentSinceMs ?? 0) <= nowMs) return;
  host.lastContactMs = Math.min(lastContactMs, nowMs);
  host.silentSinceMs = silentSinceMs && Math.min(silentSinceMs, nowMs);
  cluster.changes.hosts.add(host);
}
