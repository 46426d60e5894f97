/** Opens several logs of one execution. */

import { LOG_START, type LogPosition } from '../../../shared/streams/log-frames.ts';
import type { LogFormat, LogPart } from '../../../shared/streams/targets.ts';
import { type Actor, authoriseOwned, noSuchService } from '../../core/accounts/account.ts';
import { findState } from '../../store/executions/executions.ts';
import { logSubscriber } from '../access-review.ts';
import type { Context } from '../context.ts';
import { getServices } from './reads.ts';

/** Opens the output of a service from a position on, as frames (shared/streams/log-frames.ts). */
export type OpenLog = () => Promise<ReadableStream<Uint8Array>>;

/**
 * Returns for each service a function that opens its log. Throws `not-found` if a service belongs to another
 * execution. The last lines are those of services from the beginning.
 */
export async function openExecutionLogs(
  context: Context,
  actor: Actor,
  executionId: number,
  positions: ReadonlyMap<number, LogPosition>,
  format: LogFormat,
  { tail, ...rest }: LogPart = {},
): Promise<Map<number, OpenLog>> {
  const state = await findState(context.db, executionId);
  const { account, ownerId } = authoriseOwned(actor, 'read-execution', state?.userId);
  const subscriber = logSubscriber(account, ownerId);
  const services = await getServices(context, actor, executionId);
  const known = new Set(services.map(({ id }) => id));
  if ([...positions.keys()].some((id) => !known.has(id))) throw noSuchService();
  return new Map(
    [...positions].map(([id, from]): [number, OpenLog] => {
      // A reader that has lost the stream continues from where it was.
      const isBeginning = from.generation === LOG_START.generation && from.offset === LOG_START.offset;
      const part = { ...rest, ...(isBeginning && tail !== undefined && { tail }) };
      return [id, () => context.openLog(subscriber, id, format, from, part)];
    }),
  );
}
