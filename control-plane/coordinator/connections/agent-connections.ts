/**
 * The connections whose sockets this process holds, and the allowances of their hosts (P152). The same in a
 * coordinator that holds the sockets itself and in a gateway.
 */

import { WindowMemory } from '../../../shared/streams/window.ts';
import { type AllowanceOptions, MessageAllowances } from '../../guard/message-allowance.ts';
import type { AgentSocket, Clock, Logger } from '../ports.ts';
import { AgentConnection, type SessionMessage } from './agent-connection.ts';
import { type SharedWindows, WINDOW_BYTES_OF_OBJECT } from './open-channels.ts';
import { noTraffic, type Traffic } from './traffic.ts';

/** Where the messages of a connection go. */
export interface SessionEnd {
  /** `length`: of the frame, in UTF-16 units. */
  receive(message: SessionMessage, length: number): void;
  closed(): void;
}

export interface ConnectionDeps {
  clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  log: Logger;
  /** What the messages of one host may take before further ones wait (P152), and what each one takes. */
  messageAllowance?: AllowanceOptions;
  /** Counts that of all connections. */
  traffic?: Traffic;
  /** For the windows of all channels. */
  windowBytes?: number;
}

/** The log line about an agent whose message was not accepted. */
export const logRefusal = (log: Logger, host: string | number, what: string): void =>
  log('agent.report-refused', { host, what: what.slice(0, 200) });

export class AgentConnections {
  readonly #clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  readonly #log: Logger;
  readonly #nameOf: (hostId: number) => string | number;
  readonly #allowances: MessageAllowances;
  readonly #traffic: Traffic;
  readonly #windows: SharedWindows;

  /** `nameOf` returns the name of a host for log lines, or its id. */
  constructor(
    {
      clock,
      log,
      messageAllowance = {},
      traffic = noTraffic(),
      windowBytes = WINDOW_BYTES_OF_OBJECT,
    }: ConnectionDeps,
    nameOf: (hostId: number) => string | number,
  ) {
    this.#clock = clock;
    this.#log = log;
    this.#nameOf = nameOf;
    this.#traffic = traffic;
    this.#windows = { memory: new WindowMemory(windowBytes), nowMs: () => clock.monotonicMs() };
    this.#allowances = new MessageAllowances(messageAllowance, clock, (hostId, limitBytes) =>
      log('agent.too-many-messages', { host: nameOf(hostId), limitBytes }),
    );
  }

  /**
   * Accepts a connection. `attach` returns its session. The caller must pass the connection its frames, and
   * the end of the socket.
   */
  connect(
    socket: AgentSocket,
    hostId: number,
    attach: (connection: AgentConnection) => SessionEnd,
  ): AgentConnection {
    const connection: AgentConnection = new AgentConnection(
      socket,
      {
        message: (message, length) => session.receive(message, length),
        refused: (what) => logRefusal(this.#log, this.#nameOf(hostId), what),
        useAllowance: (length, requested) => this.#allowances.use(hostId, length, requested),
        closed: () => session.closed(),
      },
      this.#clock.nowMs() % 2 ** 31,
      this.#traffic,
      this.#windows,
    );
    const session = attach(connection);
    return connection;
  }
}
