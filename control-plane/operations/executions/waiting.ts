/** What queued executions of a list wait for, at the bounded cost of core/views/waiting-reasons.ts. */
import { OperationError } from '../../core/model/errors.ts';
import type { ExecutionStatus } from '../../core/model/execution.ts';
import type { ExecutionView } from '../../core/views/execution-views.ts';
import type { Context } from '../context.ts';

/** Executions of one list, however long it is. */
const MAX_LISTED = 100;

/** An execution in a list. `waitingFor`: sentences for people, as in an explanation, if they are known. */
export type ListedExecution = ExecutionView & { waitingFor?: readonly string[] };

type Waiting = ReadonlyMap<number, readonly string[]>;

/** By id, as far as the coordinator states it; nothing while no coordinator is available. */
export async function waitingReasons(
  { coordinator }: Pick<Context, 'coordinator'>,
  executions: readonly { id: number; status: ExecutionStatus }[],
): Promise<Waiting> {
  const queued = executions.filter(({ status }) => status === 'queued').map(({ id }) => id);
  if (queued.length === 0) return new Map();
  const reasons = await coordinator.waitingReasons(queued).catch((error: unknown) => {
    if (error instanceof OperationError && error.code === 'unavailable') return [];
    throw error;
  });
  return new Map(reasons.map(({ executionId, waitingFor }) => [executionId, waitingFor]));
}

/** The pages, with what the first queued executions wait for. */
export async function* withWaitingReasons(
  context: Pick<Context, 'coordinator'>,
  pages: AsyncGenerator<ExecutionView[]>,
): AsyncGenerator<ListedExecution[]> {
  let left = MAX_LISTED;
  for await (const page of pages) {
    const queued = page.filter(({ status }) => status === 'queued').slice(0, left);
    left -= queued.length;
    const reasons = await waitingReasons(context, queued);
    yield page.map((one) => {
      const waitingFor = reasons.get(one.id);
      return waitingFor ? { ...one, waitingFor } : one;
    });
  }
}
