/** Owns the list of what changed in the live state and must be written. Pure. */
import type { IdRange } from '../../../shared/protocol/assignment.ts';
import type { Execution } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { Service } from '../model/service.ts';

/** The ids of the next execution, service and host. An id is never given twice, not even after a deletion. */
export interface NextIds {
  execution: number;
  service: number;
  host: number;
}

/** Rows to write in the next commit; and what has no row, and is told to those who watch (events.ts). */
export interface Changes {
  newExecutions: Set<Execution>;
  executions: Set<Execution>;
  services: Set<Service>;
  newHosts: Set<Host>;
  hosts: Set<Host>;
  /** Join tokens that were used, by their hash, and the hosts they made. */
  usedTokens: Map<string, Host>;
  /** With the time of their removal. */
  removedHosts: Map<Host, number>;
  purged: Set<Execution>;
  /** Ranges of services that became known as unknown. */
  unknown: Set<IdRange>;
  /** The next ids, where they are beyond those of the rows. */
  raisedIds: NextIds | null;
  /** Of the executions above, those that nobody may see from now on. */
  deleted: Set<Execution>;
  /** Services whose start has come further. */
  progressed: Set<Service>;
  /** Hosts that something else is wrong with than before. */
  conditions: Set<Host>;
}

export const noChanges = (): Changes => ({
  newExecutions: new Set(),
  executions: new Set(),
  services: new Set(),
  newHosts: new Set(),
  hosts: new Set(),
  usedTokens: new Map(),
  removedHosts: new Map(),
  purged: new Set(),
  unknown: new Set(),
  raisedIds: null,
  deleted: new Set(),
  progressed: new Set(),
  conditions: new Set(),
});
