/** What users have open at services: logs, and streams by their permits. Both end when access ends. */
import type { StreamRules } from '../../core/model/stream-rules.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import type { Db } from '../../store/db/db.ts';
import type { Agents } from '../agents/agents.ts';
import type { Clock } from '../ports.ts';
import type { Turns } from '../turns.ts';
import { Logs } from './logs.ts';
import { StreamPermits } from './stream-permits.ts';

export class ServiceStreams {
  readonly logs: Logs;
  readonly permits: StreamPermits;

  constructor(db: Db, turns: Turns, agents: Agents, clock: Clock, rules: StreamRules) {
    this.logs = new Logs(db, turns, agents, clock);
    this.permits = new StreamPermits(db, turns, agents, clock, rules);
  }

  get size(): number {
    return this.logs.size + this.permits.size;
  }

  /** The changes of a turn are committed. */
  changed(cluster: Cluster): void {
    this.logs.changed(cluster);
    this.permits.changed(cluster);
  }

  /** Ends what a user (null: all users) has open and may not have any longer. */
  async review(userId: number | null): Promise<void> {
    await Promise.all([this.logs.review(userId), this.permits.review(userId)]);
  }

  /** Another coordinator has taken over. */
  retired(): void {
    this.logs.retired();
    this.permits.retired();
  }
}
