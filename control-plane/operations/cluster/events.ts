/** Use cases on the stream of events. Those with an actor authorise on their first line. */
import { type Account, type Actor, authorise } from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { Context } from '../context.ts';

/** Throws if the actor may not subscribe to events. */
export const authoriseEvents = (actor: Actor): Account => authorise(actor, { kind: 'list-executions' });

/**
 * Opens the stream of changes as lines of EventFrame: the actor's own executions or, if its role allows, all
 * executions and the hosts. `lastEventId` is evaluated after authorisation; the stream continues after that
 * event, or begins now if it is null. The stream ends from time to time, and the client must open it again.
 */
export async function openEvents(
  { coordinator }: Context,
  actor: Actor,
  lastEventId: () => string | null,
): Promise<ReadableStream<Uint8Array>> {
  const { user, role } = authoriseEvents(actor);
  return coordinator.openEvents({
    userId: user.id,
    credentialVersion: user.credentialVersion,
    seesOthers: role.canOperateOthers,
    seesHosts: role.canSeeStatus || role.canChangeConfig,
    lastEventId: lastEventId(),
  });
}

/** The id after which a stream misses nothing from now on; null if the coordinator is not available. */
export async function lastEventId({ coordinator }: Context, actor: Actor): Promise<string | null> {
  authoriseEvents(actor);
  try {
    return await coordinator.lastEventId();
  } catch (error) {
    if (error instanceof OperationError && error.code === 'unavailable') return null;
    throw error;
  }
}
