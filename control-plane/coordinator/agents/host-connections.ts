/**
 * The open connections of each host: at most a few, since each may hold a part of a long message (P154). Also
 * counts connections, for metrics.
 */
import type { Logger } from '../ports.ts';
import type { AgentSession } from './agent-session.ts';

/** An agent has one. Earlier ones may still be open if their end was not noticed. */
const MAX_CONNECTIONS = 4;

export class HostConnections {
  /** Connections that agents have opened, and those of them of hosts that had one before. */
  opened = 0;
  reopened = 0;
  /** Ids of the hosts that have had one. */
  readonly #seen = new Set<number>();
  /** By host id, the oldest first. */
  readonly #sessions = new Map<number, Set<AgentSession>>();

  /** Adds a connection. The oldest one closes if the host has too many. */
  add(session: AgentSession): void {
    this.#countOpened(session);
    const sessions = this.#sessions.get(session.hostId) ?? new Set();
    this.#sessions.set(session.hostId, sessions.add(session));
    const [oldest] = sessions;
    if (sessions.size > MAX_CONNECTIONS) oldest?.close('unavailable', 'too many connections of this host');
  }

  remove(session: AgentSession): void {
    const sessions = this.#sessions.get(session.hostId);
    sessions?.delete(session);
    if (sessions?.size === 0) this.#sessions.delete(session.hostId);
  }

  /** A session that has joined before its coordinator slept is not a new connection. */
  #countOpened({ hostId, isJoined }: AgentSession): void {
    if (!isJoined) this.opened += 1;
    if (!isJoined && this.#seen.has(hostId)) this.reopened += 1;
    this.#seen.add(hostId);
  }

  /** Closes all connections, also those whose hello waits, so that the agents try another control plane. */
  sendAway(log: Logger): void {
    const sessions = [...this.#sessions.values()].flatMap((ofHost) => [...ofHost]);
    if (sessions.length > 0) log('agents.sent-away', { connections: sessions.length });
    for (const session of sessions) session.close('unavailable', 'another control plane may have taken over');
  }
}
