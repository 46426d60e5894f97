/**
 * Handles steps of the wall clock. What waits or counts is recorded as times of that clock, so a step that
 * the monotonic clock shows moves these times with it: every duration stays as it is (C332). A clock that
 * ran ahead in an earlier life, or on a platform without a monotonic clock, leaves deadlines that are capped:
 * nothing waits longer than if its wait had started now (C125). Pure.
 */

import { type Execution, isEnded, MAX_BACKOFF_MS } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { Cluster } from '../state/cluster.ts';

/** A moment by both clocks of the control plane. */
export interface Moment {
  nowMs: number;
  monotonicMs: number;
}

/** Smaller steps are the normal corrections of a synchronised clock. */
const STEP_THRESHOLD_MS = 1_000;

/** How far the wall clock was set since `last`; 0 if it was not. */
export function clockStepMs(last: Moment | null, { nowMs, monotonicMs }: Moment): number {
  if (!last) return 0;
  const stepMs = nowMs - last.nowMs - (monotonicMs - last.monotonicMs);
  return Math.abs(stepMs) > STEP_THRESHOLD_MS ? Math.round(stepMs) : 0;
}

/**
 * Runs before anything else in a turn. `last` is the moment of the last turn that was committed, or null: the
 * first turn of a coordinator corrects what its predecessor recorded.
 */
export function handleClockStep(cluster: Cluster, last: Moment | null, moment: Moment): void {
  const { nowMs } = moment;
  const stepMs = clockStepMs(last, moment);
  if (stepMs !== 0) moveTimes(cluster, stepMs);
  else if (!last || nowMs < last.nowMs - STEP_THRESHOLD_MS) capTimes(cluster, nowMs);
}

function moveTimes(cluster: Cluster, stepMs: number): void {
  for (const execution of cluster.executions.values()) {
    if (isEnded(execution)) continue;
    if (execution.retryAtMs !== null || execution.timePlaceMs !== null) {
      execution.retryAtMs = moved(execution.retryAtMs, stepMs);
      execution.timePlaceMs = moved(execution.timePlaceMs, stepMs);
      cluster.touch(execution);
    }
    for (const service of execution.services) {
      if (service.restartAtMs === null && service.deathsMs.length === 0) continue;
      service.restartAtMs = moved(service.restartAtMs, stepMs);
      service.deathsMs = service.deathsMs.map((timeMs) => timeMs + stepMs);
      cluster.touch(service);
    }
  }
  cluster.deadlines.move(stepMs);
  for (const host of cluster.hosts.values()) {
    host.lastContactMs += stepMs;
    host.heardMs += stepMs;
    host.silentSinceMs = moved(host.silentSinceMs, stepMs);
    cluster.changes.hosts.add(host);
  }
  const { reservation } = cluster;
  if (reservation) reservation.dueMs = moved(reservation.dueMs, stepMs);
}

const moved = (timeMs: number | null, stepMs: number): number | null => timeMs && timeMs + stepMs;

function capTimes(cluster: Cluster, nowMs: number): void {
  for (const execution of cluster.executions.values()) {
    capRetries(cluster, execution, nowMs + MAX_BACKOFF_MS);
    restartTimeLimit(cluster, execution, nowMs);
  }
  for (const host of cluster.hosts.values()) capSilence(cluster, host, nowMs);
  const { reservation } = cluster;
  if (reservation?.dueMs)
    reservation.dueMs = Math.min(reservation.dueMs, nowMs + cluster.schedulerConfig.backfillReserveAfterMs);
}

function capRetries(cluster: Cluster, execution: Execution, latestMs: number): void {
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

/** The time limit of an execution that was placed in the future counts from now on. */
function restartTimeLimit(cluster: Cluster, execution: Execution, nowMs: number): void {
  if (execution.timeLimitS === null || (execution.timePlaceMs ?? 0) <= nowMs) return;
  execution.timePlaceMs = nowMs;
  cluster.touch(execution);
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
