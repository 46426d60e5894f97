/** What a session sends to: its agent's connection in this process, or one at a gateway. */
import type { ChannelPort } from './open-channels.ts';

/** Where readers find the channels of a host whose connection a gateway holds. */
export interface GatewayAddress {
  gateway: number;
  /** Id of the connection, which is never given twice. */
  connection: string;
  /** Messages that the coordinator has sent on it. A channel must not be opened before they have arrived. */
  sent: number;
}

export interface SessionPeer {
  send(text: string): void;
  close(code: number, reason: string): void;
  /** True if the peer reports the agent's silence by itself (P180). */
  readonly isWatching?: boolean;
  /** The channels of the connection, if it is in this process. */
  readonly channels?: ChannelPort;
  /** The connection at a gateway, if it is there. */
  readonly gateway?: GatewayAddress;
}
