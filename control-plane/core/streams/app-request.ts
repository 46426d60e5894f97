/** A request to the web application at a port of a service, as the control plane has authorised it. Pure. */
import type { AuditEntry } from '../accounts/audit.ts';
import type { ChannelSubscriber } from './channel-subscriber.ts';

/** Who may use the application, as read from the database, and where it is. */
export type AppGrant = Pick<AppRequest, 'subscriber' | 'hostId'>;

/** Can be sent as JSON. */
export interface AppRequest {
  /** Its use is `use-app`. */
  subscriber: ChannelSubscriber;
  serviceId: number;
  hostId: number;
  /** Port of the container. */
  port: number;
  method: string;
  /** Path and query, as the application gets them. */
  path: string;
  /** What the application gets. Without hop-by-hop headers and without anything of Berth. */
  headers: [name: string, value: string][];
  /** Who opens it. The deed is added. */
  doer: Omit<AuditEntry, 'action'>;
}
