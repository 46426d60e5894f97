/** Opens streams to services: authorises, and describes what the host of the socket needs to serve one. */
import type { StreamPurpose } from '../../../shared/streams/client-messages.ts';
import { type Actor, authorise, noSuchService } from '../../core/accounts/account.ts';
import { type Deed, entryOf } from '../../core/accounts/audit.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { StreamRequest } from '../../core/streams/stream-request.ts';
import type { ServiceView } from '../../core/views/execution-views.ts';
import { logSubscriber } from '../access-review.ts';
import { attempted } from '../audit.ts';
import type { Context } from '../context.ts';
import { readableService } from './reads.ts';

const NOT_RUNNING = 'The service is not running.';

const actionOf = { exec: 'exec-service', forward: 'forward-port', files: 'copy-files' } as const;

/**
 * Throws `conflict` if the service has no host. Whether it runs, the coordinator finds out (StreamPermits).
 */
export function requestStream(
  context: Context,
  actor: Actor,
  serviceId: number,
  purpose: StreamPurpose,
): Promise<StreamRequest> {
  const deed: Deed = { action: actionOf[purpose], targetId: serviceId };
  return attempted(context, actor, deed, async () => {
    const { user } = authorise(actor, { kind: 'list-executions' });
    // The role comes first, so that a missing flag gives the same answer whether or not the service exists.
    authorise(actor, { kind: 'exec-service', ownerId: user.id });
    const { account, service } = await readableService(context, actor, serviceId);
    try {
      authorise(actor, { kind: 'exec-service', ownerId: service.userId });
    } catch (error) {
      throw error instanceof OperationError && error.code === 'not-found' ? noSuchService(error) : error;
    }
    const { hostId } = service;
    if (hostId === null) throw new OperationError('conflict', NOT_RUNNING);
    return {
      purpose,
      subscriber: { ...logSubscriber(account, service.userId), use: { kind: 'exec-service' } },
      serviceId,
      hostId,
      doer: entryOf(account, deed),
    };
  });
}

/** Why the actor gets no command in the service now; undefined if no reason is known. */
export function whyNoStream(actor: Actor, service: ServiceView): string | undefined {
  try {
    authorise(actor, { kind: 'exec-service', ownerId: service.userId });
  } catch (error) {
    if (error instanceof OperationError) return error.message;
    throw error;
  }
  const { hostId, containerId, exit, status } = service;
  const isRunning = hostId !== null && containerId !== null && !exit && status !== 'inactive';
  return isRunning ? undefined : NOT_RUNNING;
}
