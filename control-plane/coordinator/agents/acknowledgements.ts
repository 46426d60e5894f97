/** The reports that a turn acknowledges: each session gets one ack, for the last of its reports (P7). */
import type { Cluster } from '../../core/state/cluster.ts';
import { coreSharesAt } from '../../core/state/core-shares.ts';
import type { AgentSession } from './agent-session.ts';

export class Acknowledgements {
  readonly #sequences = new Map<AgentSession, number>();

  /** The turn covers this report and all earlier ones of the session. */
  add(session: AgentSession, sequence: number): void {
    this.#sequences.set(session, sequence);
  }

  /** Sends them. Call it once the turn is committed. */
  send(cluster: Cluster, nowMs: number): void {
    for (const [session, sequence] of this.#sequences)
      session.acknowledge(sequence, nowMs, coreSharesAt(cluster, session.hostId));
    this.#sequences.clear();
  }

  clear(): void {
    this.#sequences.clear();
  }
}
