/**
 * Early ends: an execution that ends soon after its start, as clients of the earlier platform see it (H168).
 * These clients wait until they have seen it run, and its servers noticed an end only seconds later. Nothing
 * of this is stored. Pure.
 */
import type { ExecutionView, ServiceView } from './execution-views.ts';
import type { SchedulerSnapshot } from './statistics.ts';

/** How long after its start an execution counts as running, whatever has happened since. */
const SHOWN_MS = 3_000;

/** Executions that started later than this time count as running. */
export const runningSinceMs = (nowMs: number): number => nowMs - SHOWN_MS;

export const countsAsRunning = (
  { timeStartMs }: Pick<ExecutionView, 'timeStartMs'>,
  nowMs: number,
): boolean => timeStartMs !== null && timeStartMs > runningSinceMs(nowMs);

/** An execution that counts as running has no end and no error yet. */
export const executionSeenAt = (execution: ExecutionView, nowMs: number): ExecutionView =>
  countsAsRunning(execution, nowMs)
    ? { ...execution, status: 'running', errorMessage: null, timeEndMs: null }
    : execution;

/** A service that has started is active as long as its ended or ending execution counts as running. */
export function serviceSeenAt(service: ServiceView, nowMs: number): ServiceView {
  const { execution, starts } = service;
  const isHidden = execution.status !== 'running' && countsAsRunning(execution, nowMs);
  return isHidden && starts > 0
    ? { ...service, status: 'active', backendStatus: 'started', errorMessage: null }
    : service;
}

/** `early`: ids of executions that count as running although they have ended, or are ending. */
export function snapshotSeenWith(snapshot: SchedulerSnapshot, early: readonly number[]): SchedulerSnapshot {
  if (early.length === 0) return snapshot;
  const seen = new Set(early);
  return {
    ...snapshot,
    running: [...new Set([...snapshot.running, ...early])].toSorted((one, other) => one - other),
    cleaningUp: snapshot.cleaningUp.filter((id) => !seen.has(id)),
  };
}
