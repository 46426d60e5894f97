/** The placement of a stream, or of requests to an application, until it ends or its client leaves. */
import type { AuditEntry } from '../../core/accounts/audit.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { Clock } from '../ports.ts';
import type { OpenPlacement, Placed } from './placement.ts';
import type { PlacementRequest, PlacementSource } from './placements.ts';

export interface StreamPlacementEvents {
  placed(line: Placed): void | Promise<void>;
  /** Called once, unless the client has left before. */
  ended(reason: OperationError): void;
}

/** How long a placement may take until it was used. A call to another object may never be answered. */
const MAX_MS = 60_000;

/** Obtains the placement of a stream. Returns a function that leaves it, also if it is given only later. */
export function followStream(
  { place, clock }: PlacementSource & { clock: Pick<Clock, 'after'> },
  { subscriber, serviceId }: Pick<PlacementRequest, 'subscriber' | 'serviceId'>,
  entry: AuditEntry,
  events: StreamPlacementEvents,
): () => void {
  let placement: OpenPlacement | undefined;
  let hasLeft = false;
  const follow = async () => {
    placement = await place({ subscriber, serviceId, for: { kind: 'stream', entry } });
    if (hasLeft) return placement.leave();
    for (let line = await placement.next(); line; line = await placement.next()) {
      if (line === 'heartbeat') continue;
      if ('ended' in line) throw new OperationError('unavailable', line.ended);
      await events.placed(line);
      cancelWait();
    }
    throw new OperationError('unavailable', 'The control plane has restarted. Try again.');
  };
  const leave = () => {
    hasLeft = true;
    cancelWait();
    placement?.leave();
  };
  const end = (error: unknown) => {
    if (hasLeft) return;
    leave();
    events.ended(asOperationError(error));
  };
  const cancelWait = clock.after(MAX_MS, () =>
    end(
      new OperationError(
        'unavailable',
        `The control plane has not permitted the stream within ${MAX_MS / 1_000} s. Try again.`,
      ),
    ),
  );
  follow().catch(end);
  return leave;
}

const asOperationError = (error: unknown): OperationError =>
  error instanceof OperationError
    ? error
    : new OperationError('unavailable', 'The control plane can not open the stream. Try again.', {
        cause: error,
      });
