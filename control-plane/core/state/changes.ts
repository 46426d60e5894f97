/** The changes of the live state that the next commit writes. Pure. */
import type { Application } from '../../../shared/application-schema.ts';
import type { IdRange } from '../../../shared/protocol/assignment.ts';
import type { RequestedChange } from '../accounts/account-input.ts';
import type { AuditEntry } from '../accounts/audit.ts';
import type { Execution } from '../model/execution.ts';
import type { Host } from '../model/host.ts';
import type { UsedKey } from '../model/idempotency.ts';
import type { Service } from '../model/service.ts';

/** The ids of the next execution, service and host. An id is never given twice, not even after a deletion. */
export interface NextIds {
  execution: number;
  service: number;
  host: number;
}

/** A description as JSON text, and its content. */
export interface Description {
  text: string;
  application: Application;
}

/**
 * Rows to write in the next commit, and changes without a row that are sent to subscribers
 * (streams/events.ts).
 */
export interface Changes {
  /** With their descriptions. */
  newExecutions: Map<Execution, Description>;
  /** Executions whose services get their rows. */
  newServices: Set<Execution>;
  executions: Set<Execution>;
  services: Set<Service>;
  /** Services of which another host is recorded; they are also among `services`. */
  moved: Set<Service>;
  newHosts: Set<Host>;
  hosts: Set<Host>;
  /** Used join tokens, by hash, with the hosts that they registered. */
  usedTokens: Map<string, Host>;
  /** Keys of requests that have made something, by user id and key. */
  usedKeys: Map<string, UsedKey>;
  /** Changes of users, roles, quotas and credentials. The state has them after the commit. */
  accounts: RequestedChange[];
  /** Keys under which the changes of accounts among these create something, if they are not refused. */
  keysInDoubt: Set<string>;
  /** What the audit log records of the callers' changes, with the time. */
  audited: { entry: AuditEntry; timeMs: number }[];
  /** With the time of removal. */
  removedHosts: Map<Host, number>;
  purged: Set<Execution>;
  /** Ranges of service ids that have become unknown, or have become longer. */
  unknown: Set<IdRange>;
  /** The next ids, if they are beyond those of the rows. */
  raisedIds: NextIds | null;
  /** The count of ids that were skipped without a proof, if it has changed. */
  unprovenIds: number | null;
  /**
   * True if the turn has met something that it does not know and a later coordinator may: the commit confirms
   * the epoch, even without rows.
   */
  confirmsEpoch: boolean;
  /** The executions among those above that no user may see from now on. */
  deleted: Set<Execution>;
  /** Services whose start has progressed. */
  progressed: Set<Service>;
  /** Hosts whose conditions have changed in kind. */
  conditions: Set<Host>;
}

export const noChanges = (): Changes => ({
  newExecutions: new Map(),
  newServices: new Set(),
  executions: new Set(),
  services: new Set(),
  moved: new Set(),
  newHosts: new Set(),
  hosts: new Set(),
  usedTokens: new Map(),
  usedKeys: new Map(),
  accounts: [],
  keysInDoubt: new Set(),
  audited: [],
  removedHosts: new Map(),
  purged: new Set(),
  unknown: new Set(),
  raisedIds: null,
  unprovenIds: null,
  confirmsEpoch: false,
  deleted: new Set(),
  progressed: new Set(),
  conditions: new Set(),
});
