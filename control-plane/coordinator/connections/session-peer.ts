/** What a session sends to: its agent's connection in this process, or one at a gateway. */

import type { AgentConnection } from './agent-connection.ts';
import type { OpenStreams } from './open-streams.ts';

/** Where readers find the logs of a host whose connection a gateway holds. */
export interface GatewayAddress {
  gateway: number;
  /** Id of the connection, which is never given twice. */
  connection: string;
  /** Messages that the coordinator has sent on it. A log must not be opened before they have arrived. */
  sent: number;
}

/** Serves the logs of one connected agent. */
export type LogServer = Pick<AgentConnection, 'openLog' | 'grant' | 'closeLog' | 'openLogs'>;

export interface SessionPeer {
  send(text: string): void;
  close(code: number, reason: string): void;
  /** True if the peer reports the agent's silence by itself (P180). */
  readonly isWatching?: boolean;
  /** The server of the host's logs in this process, or the connection at a gateway that has it. */
  readonly logs: LogServer | GatewayAddress;
  /** The streams of the connection, if it is in this process. */
  readonly streams?: OpenStreams;
}
