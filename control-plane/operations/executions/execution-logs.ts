/** Opens several logs of one execution. */
import { type Actor, noSuchService } from '../../core/accounts/account.ts';
import type { LogPosition } from '../../core/streams/log-frames.ts';
import { findOwner, listServices } from '../../store/executions/executions.ts';
import type { Context } from '../context.ts';
import { logSubscriber } from '../stream-access.ts';
import { authoriseOwned, getExecution } from './reads.ts';

/** Opens the output of a service from a position on, as frames with times (core/streams/log-frames.ts). */
export type OpenLog = () => Promise<ReadableStream<Uint8Array>>;

/**
 * Returns for each service a function that opens its log. Throws `not-found` if a service belongs to another
 * execution.
 */
export async function openExecutionLogs(
  context: Context,
  actor: Actor,
  executionId: number,
  positions: ReadonlyMap<number, LogPosition>,
): Promise<Map<number, OpenLog>> {
  const owner = await findOwner(context.db, executionId);
  const { account, ownerId } = authoriseOwned(actor, 'read-execution', owner);
  const subscriber = logSubscriber(account, ownerId);
  const services = await listServices(context.db, await getExecution(context, actor, executionId));
  const known = new Set(services.map(({ id }) => id));
  if ([...positions.keys()].some((id) => !known.has(id))) throw noSuchService();
  return new Map(
    [...positions].map(([id, from]): [number, OpenLog] => [
      id,
      () => context.coordinator.openLog(subscriber, id, 'timestamps', from),
    ]),
  );
}
