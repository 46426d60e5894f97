/**
 * Ends of executions as clients of the earlier platform see and request them (H163, H168). These clients wait
 * until they have seen an execution run, and its servers noticed an end only seconds later; so one that ends
 * soon after its start counts as running for a while. Nothing of this is stored.
 */
import { type Actor, asExpected, authorise } from '../../core/accounts/account.ts';
import { hasCode, OperationError } from '../../core/model/errors.ts';
import { isEnded } from '../../core/model/execution.ts';
import type { ExecutionView, ServiceView } from '../../core/views/execution-views.ts';
import type { SchedulerSnapshot } from '../../core/views/statistics.ts';
import { attempted } from '../../operations/audit.ts';
import type { Context } from '../../operations/context.ts';
import { getState } from '../../operations/executions/reads.ts';

/** An execution counts as running for this long after its start, even if it has already ended. */
const SHOWN_MS = 3_000;

/** Executions that started later than this time count as running. */
export const runningSinceMs = (nowMs: number): number => nowMs - SHOWN_MS;

const countsAsRunning = ({ timeStartMs }: Pick<ExecutionView, 'timeStartMs'>, nowMs: number): boolean =>
  timeStartMs !== null && timeStartMs > runningSinceMs(nowMs);

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

export const terminateExecution = (context: Context, actor: Actor, id: number): Promise<void> =>
  attempted(context, actor, { action: 'terminate-execution', targetId: id }, async () => {
    const caller = authorise(actor, { kind: 'list-executions' });
    try {
      await context.coordinator.terminate(id, asExpected(caller) ?? caller);
    } catch (error) {
      if (!hasCode(error, 'conflict')) throw error;
      const ended = await getState(context, actor, 'terminate-execution', id);
      if (!countsAsRunning(ended, context.nowMs())) throw new OperationError('invalid', error.message);
    }
  });

export const deleteExecution = (context: Context, actor: Actor, id: number): Promise<void> =>
  attempted(context, actor, { action: 'delete-execution', targetId: id }, async () => {
    const caller = authorise(actor, { kind: 'list-executions' });
    // Once it has ended it stays so.
    const state = await getState(context, actor, 'delete-execution', id);
    if (!isEnded(state) || countsAsRunning(state, context.nowMs()))
      throw new OperationError('invalid', 'Cannot delete an active execution');
    await context.coordinator.remove(id, asExpected(caller) ?? caller);
  });
