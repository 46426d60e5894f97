/** Reads of single executions and services. Each one authorises; long descriptions are read in turns. */
import {
  type Actor,
  authorise,
  authoriseOwned,
  type KnownActor,
  noSuchExecution,
  noSuchService,
  type OwnedAction,
} from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { ExecutionView, ServiceView } from '../../core/views/execution-views.ts';
import { LONG_READ } from '../../guard/read-turns.ts';
import {
  type ExecutionState,
  findExecution,
  findService,
  findServiceRows,
  findShortExecution,
  findShortService,
  findState,
  servicesOf,
} from '../../store/executions/executions.ts';
import type { Context } from '../context.ts';

export async function getExecution({ db, turns }: Context, actor: Actor, id: number): Promise<ExecutionView> {
  const found = await findShortExecution(db, id, LONG_READ);
  const { account } = authoriseOwned(actor, 'read-execution', found?.userId);
  const execution =
    found && 'isLong' in found
      ? await turns.run(
          account.user.id,
          () => findExecution(db, id),
          (one) => one?.description.length ?? 0,
        )
      : found;
  if (!execution) throw noSuchExecution();
  return execution;
}

/** The state of an execution, for those who may do this to it. */
export async function getState(
  { db }: Context,
  actor: Actor,
  kind: OwnedAction,
  id: number,
): Promise<ExecutionState> {
  const state = await findState(db, id);
  authoriseOwned(actor, kind, state?.userId);
  if (!state) throw noSuchExecution();
  return state;
}

/** The services of an execution, in the order of its description. */
export async function getServices(
  context: Context,
  actor: Actor,
  executionId: number,
): Promise<ServiceView[]> {
  authorise(actor, { kind: 'list-executions' });
  const [execution, rows] = await Promise.all([
    getExecution(context, actor, executionId),
    findServiceRows(context.db, executionId),
  ]);
  return servicesOf(execution, rows);
}

export interface ReadableService {
  account: KnownActor;
  service: ServiceView;
}

/**
 * Resolves to the service and the account that may read it. Another user's service is `not-found`. The role
 * is checked first.
 */
export async function readableService(
  { db, turns }: Context,
  actor: Actor,
  id: number,
): Promise<ReadableService> {
  const account = authorise(actor, { kind: 'list-executions' });
  const found = await findShortService(db, id, LONG_READ);
  try {
    authorise(actor, { kind: 'read-execution', ownerId: found?.userId ?? account.user.id });
  } catch (error) {
    throw error instanceof OperationError && error.code === 'not-found' ? noSuchService(error) : error;
  }
  const service =
    found && 'isLong' in found
      ? await turns.run(
          account.user.id,
          () => findService(db, id),
          // The description was long, whatever the service has of it.
          () => LONG_READ,
        )
      : found;
  if (!service) throw noSuchService();
  return { account, service };
}
