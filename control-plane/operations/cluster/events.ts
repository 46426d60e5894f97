/** Owns the use cases on the stream of events. Each of an actor authorises on its first line. */
import { type Account, type Actor, authorise } from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { Context } from '../context.ts';

/** Whether the actor may watch at all. */
export const authoriseEvents = (actor: Actor): Account => authorise(actor, { kind: 'list-executions' });

/**
 * What changes, as lines of EventFrame: of the actor's own executions or, as its role has it, of all and of hosts. Goes
 * on behind the event of `lastEventId`, which is read after authorisation; null: from now on. The stream ends now and then, and is to be opened again.
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

/** From where a stream tells all that changes from now on; null where that is not known: then from its beginning. */
export async function lastEventId({ coordinator }: Context, actor: Actor): Promise<string | null> {
  authoriseEvents(actor);
  try {
    return await coordinator.lastEventId();
  } catch (error) {
    if (error instanceof OperationError && error.code === 'unavailable') return null;
    throw error;
  }
}
