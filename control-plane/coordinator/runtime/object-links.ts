/** Links between objects: what Worker, coordinator and gateways call of one another by RPC. */

import type { VerifiedProof } from '../../core/hosts/registration.ts';
import type { AwakeTotals } from '../../core/views/awake-totals.ts';
import type { SessionMessage } from '../connections/agent-connection.ts';
import type { PassedBytes } from '../connections/traffic.ts';
import type { Portion, Rejected } from '../gateways/portion.ts';
import type { Outcome } from './remote-call.ts';

/** What the Worker and gateways call of the coordinator. */
export interface CoordinatorLink {
  /** Opens a placement (placement-sockets.ts). */
  fetch(request: Request): Promise<Response>;
  /** Admits an agent at its gateway. The value is the id of its connection. */
  admit(gateway: number, proof: VerifiedProof): Promise<Outcome<string>>;
  /** Passes on a batch (GatewayLinks.up). */
  up(batch: Portion<SessionMessage>[], passed: PassedBytes): Promise<Rejected>;
}

/** What others call of a gateway. */
export interface GatewayLink {
  /** Accepts an upgrade request (GatewayObject.fetch). */
  fetch(request: Request): Promise<Response>;
  /** Passes on a batch (Gateway.down). */
  down(incarnation: string, batch: Portion<string>[]): Promise<Rejected>;
  /** How long the gateway was awake (C233). */
  awakeTotals(): Promise<AwakeTotals>;
}
