/** A stream to a service that was authorised. Pure. */
import type { StreamPurpose } from '../../../shared/streams/client-messages.ts';
import type { AuditEntry } from '../accounts/audit.ts';
import type { StreamSubscriber } from './stream-subscriber.ts';

/** What the control plane has authorised. Can be sent as JSON. */
export interface StreamRequest {
  purpose: StreamPurpose;
  subscriber: StreamSubscriber;
  serviceId: number;
  hostId: number;
  /** Who opens it. The deed is added. */
  doer: Omit<AuditEntry, 'action'>;
}
