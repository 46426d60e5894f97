/** The sessions of agents while their coordinator sleeps (C232). */
import type { Cluster } from '../../core/state/cluster.ts';
import type { Turns } from '../turns.ts';
import { type Reported, reportedBy, type SavedSession, type SessionState } from './saved-state.ts';

interface Session {
  readonly hostId: number;
  readonly isWatched: boolean;
  readonly state: SessionState;
}

export class SavedSessions<Peer, S extends Session> {
  readonly #turns: Turns;
  /** Those that have joined, by host id. */
  readonly #sessions: Map<number, S>;
  readonly #attach: (peer: Peer, hostId: number, state: SessionState) => S;
  /** What hosts reported before the sleep, until the state is loaded. */
  readonly #reported: { session: S; reported: Reported }[] = [];

  constructor(
    turns: Turns,
    sessions: Map<number, S>,
    attach: (peer: Peer, hostId: number, state: SessionState) => S,
  ) {
    this.#turns = turns;
    this.#sessions = sessions;
    this.#attach = attach;
  }

  /** Whether the session of the host can be saved. If not, the coordinator must not sleep. */
  has(hostId: number): boolean {
    const isKnown = this.#turns.cluster?.hosts.has(hostId) === true;
    return isKnown && this.#sessions.get(hostId)?.isWatched === true;
  }

  /** What is saved of the session of a host. Undefined: it can't be saved. */
  save(hostId: number): SavedSession | undefined {
    const session = this.#sessions.get(hostId);
    const host = this.#turns.cluster?.hosts.get(hostId);
    return session?.isWatched && host ? { hostId, ...session.state, reported: reportedBy(host) } : undefined;
  }

  /** Goes on with a session. Its messages are handled once the state is loaded. */
  resume(peer: Peer, { hostId, reported, ...state }: SavedSession): S {
    const session = this.#attach(peer, hostId, state);
    this.#sessions.set(hostId, session);
    this.#reported.push({ session, reported });
    return session;
  }

  /** The state is loaded, before its first turn. */
  loaded(cluster: Cluster): void {
    for (const { session, reported } of this.#reported.splice(0)) {
      const host = cluster.hosts.get(session.hostId);
      // A session that has closed meanwhile has its own input in the first turn.
      if (!host) continue;
      Object.assign(host, reported, { connected: true, isWatched: true });
      cluster.hostIndex.update(host);
    }
  }
}
