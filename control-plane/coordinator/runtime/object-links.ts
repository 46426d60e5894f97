/** Links between objects: what Worker, coordinator and gateways call of one another by RPC. */
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { LogFormat, LogPart } from '../../../shared/protocol/down.ts';
import type { VerifiedProof } from '../../core/hosts/registration.ts';
import type { AwakeTotals } from '../../core/views/awake-totals.ts';
import type { SessionMessage } from '../connections/agent-connection.ts';
import type { GatewayAddress } from '../connections/session-peer.ts';
import type { PassedBytes } from '../connections/traffic.ts';
import type { Portion, Rejected } from '../gateways/portion.ts';
import type { Outcome } from './remote-call.ts';

/** What gateways call of the coordinator. */
export interface CoordinatorLink {
  /** Admits an agent at its gateway. The value is the id of its connection. */
  admit(gateway: number, proof: VerifiedProof): Promise<Outcome<string>>;
  /** Passes on a batch (GatewayLinks.up). */
  up(batch: Portion<SessionMessage>[], passed: PassedBytes): Promise<Rejected>;
}

/** What others call of a gateway. */
export interface GatewayLink {
  /** Accepts an agent's upgrade request (forward-upgrade.ts). */
  fetch(request: Request): Promise<Response>;
  /** Passes on a batch (Gateway.down). */
  down(incarnation: string, batch: Portion<string>[]): Promise<Rejected>;
  /** For readers of logs (Gateway.openLog). */
  openLog(
    at: Pick<GatewayAddress, 'connection' | 'sent'>,
    reader: string,
    key: ServiceKey,
    offset: number,
    format: LogFormat,
    mostBytes: number,
    part?: LogPart,
  ): Promise<ReadableStream<Uint8Array> | 'full' | undefined>;
  /** How long the gateway was awake (C233). */
  awakeTotals(): Promise<AwakeTotals>;
  /** For readers that leave (Gateway.closeLog). */
  closeLog(reader: string): Promise<void>;
}
