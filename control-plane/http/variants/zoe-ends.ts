/**
 * Ends of executions as clients of the earlier platform request them (H163): only what has ended is deleted,
 * and what counts as running has not ended (H168).
 */
import { type Actor, authorise } from '../../core/accounts/account.ts';
import { hasCode, OperationError } from '../../core/model/errors.ts';
import { isEnded } from '../../core/model/execution.ts';
import { countsAsRunning } from '../../core/views/early-end.ts';
import { attempted } from '../../operations/audit.ts';
import type { Context } from '../../operations/context.ts';
import { getState } from '../../operations/executions/reads.ts';

export const terminateExecution = (context: Context, actor: Actor, id: number): Promise<void> =>
  attempted(context, actor, { action: 'terminate-execution', targetId: id }, async () => {
    const caller = authorise(actor, { kind: 'list-executions' });
    try {
      await context.coordinator.terminate(id, caller);
    } catch (error) {
      if (!hasCode(error, 'conflict')) throw error;
      const ended = await getState(context, actor, 'terminate-execution', id);
      if (!countsAsRunning(ended, context.nowMs())) throw new OperationError('invalid', error.message);
    }
  });

export const deleteExecution = (context: Context, actor: Actor, id: number): Promise<void> =>
  attempted(context, actor, { action: 'delete-execution', targetId: id }, async () => {
    // Once it has ended it stays so.
    const state = await getState(context, actor, 'delete-execution', id);
    if (!isEnded(state) || countsAsRunning(state, context.nowMs()))
      throw new OperationError('invalid', 'Cannot delete an active execution');
    await context.coordinator.remove(id, authorise(actor, { kind: 'list-executions' }));
  });
