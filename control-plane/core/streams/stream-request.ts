/** A stream to a service that was authorised. Pure. */
import type { StreamPurpose } from '../../../shared/streams/client-messages.ts';
import type { AuditEntry } from '../accounts/audit.ts';
import type { ChannelSubscriber } from './channel-subscriber.ts';

/** What the control plane has authorised. Can be sent as JSON. */
export interface StreamRequest {
  purpose: StreamPurpose;
  subscriber: ChannelSubscriber;
  serviceId: number;
  hostId: number;
  /** Who opens it. The deed is added. */
  doer: Omit<AuditEntry, 'action'>;
}
