/** Rows of the coordinator's state: loads them into a Cluster, and writes the changes of a turn. */

import type { Execution } from '../../core/model/execution.ts';
import type { Host } from '../../core/model/host.ts';
import type { SchedulerConfig } from '../../core/model/scheduler-config.ts';
import type { Changes } from '../../core/state/changes.ts';
import { Cluster } from '../../core/state/cluster.ts';
import { writesOf } from '../accounts/account-changes.ts';
import { insertAudits } from '../accounts/audit.ts';
import { insertKey } from '../accounts/idempotency-keys.ts';
import { useJoinToken } from '../accounts/join-tokens.ts';
import { listQuotas } from '../accounts/quotas.ts';
import { loadUsers, purgeUsers } from '../accounts/user-rows.ts';
import { loadCredentials } from '../accounts/user-secrets.ts';
import type { Db, Statement } from '../db/db.ts';
import { type Claimant, claimEpoch, claimNextEpoch, type Epoch, fence, type Holding } from '../db/epoch.ts';
import { readsOfOneStep } from '../db/grouped-reads.ts';
import { pagedIds } from '../db/pages.ts';
import { loadIdKey, loadUnknown, raiseIds, writeUnknown, writeUnprovenIds } from '../schema/id-sequences.ts';
import { executionOf, insertExecution, updateExecution } from './execution-rows.ts';
import type { ReviewRecord } from './history-rows.ts';
import { hideHost, hostOf, insertHost, updateHost } from './host-rows.ts';
import { insertService, updateService } from './service-rows.ts';
import { listWaiting, loadWaiting, WAITS } from './waiting-rows.ts';

/** What a coordinator reads when it takes over. */
export interface ReadState {
  epoch: Epoch;
  cluster: Cluster;
  idKey: string;
  reviewRecord: ReviewRecord;
  /** When the last sample was taken that the database has; 0 if it has none. */
  sampledMs: number;
}

/**
 * Takes the next epoch, calls `claimed` with it, and reads all live state and the key of the proofs of ids.
 * Earlier coordinators cannot commit afterwards.
 */
export async function takeOver(
  db: Db,
  scheduling: SchedulerConfig,
  claimant: Claimant,
  claimed: (epoch: Epoch) => void = () => {},
): Promise<ReadState> {
  const epoch = await claimEpoch(db, claimant);
  claimed(epoch);
  return readState(db, epoch, scheduling);
}

/**
 * Takes the next epoch for a coordinator that has slept, and reads all live state at the same time: nothing
 * of its own was under way. Undefined if another coordinator has taken over meanwhile.
 */
export async function resume(
  db: Db,
  scheduling: SchedulerConfig,
  holding: Holding,
): Promise<ReadState | undefined> {
  const [isClaimed, state] = await Promise.all([
    claimNextEpoch(db, holding),
    readState(db, holding.epoch + 1, scheduling),
  ]);
  return isClaimed ? state : undefined;
}

async function readState(db: Db, epoch: Epoch, scheduling: SchedulerConfig): Promise<ReadState> {
  const reads = readsOfOneStep(db);
  const [cluster, idKey, [row]] = await Promise.all([
    loadCluster(db, reads, scheduling),
    loadIdKey(reads),
    reads.query(`SELECT unproven_ids, keep_ended_days, reviewed_ms,
      (SELECT max(time_ms) FROM samples) AS sampled_ms FROM coordinator LIMIT 1`),
  ]);
  cluster.unprovenIds = Number(row?.unproven_ids);
  const reviewRecord = { keepDays: Number(row?.keep_ended_days), reviewedMs: Number(row?.reviewed_ms) };
  return { epoch, cluster, idKey, reviewRecord, sampledMs: Number(row?.sampled_ms) };
}

/** Brings the changes of accounts that were committed into the state. */
type SettleAccounts = (cluster: Cluster) => void;

/**
 * Writes all changes in one transaction. Rejects if a later coordinator has taken over. Resolves to what
 * brings changes of accounts into the state, if there is anything to write.
 */
export async function commit(db: Db, epoch: Epoch, changes: Changes): Promise<SettleAccounts | undefined> {
  const accounts = changes.accounts.map((requested) => ({ requested, writes: writesOf(requested) }));
  const statements = [
    ...hostsToWrite(changes),
    ...Array.from(changes.usedTokens, useJoinToken),
    ...Array.from(changes.newExecutions, ([execution, { text }]) => insertExecution(execution, text)),
    ...Array.from(changes.usedKeys.values(), insertKey),
    ...(changes.audited.length > 0 ? [insertAudits(changes.audited)] : []),
    ...updated(changes.executions, changes.newExecutions).map(updateExecution),
    ...servicesToWrite(changes),
    ...Array.from(changes.purged, ({ id }) => ({ sql: 'DELETE FROM executions WHERE id = ?', args: [id] })),
    // The row of a deleted user is removed with the last of its executions.
    ...(changes.purged.size > 0 ? [purgeUsers] : []),
    ...Array.from(changes.unknown, writeUnknown),
    ...sequencesToRaise(changes),
    ...(changes.unprovenIds === null ? [] : [writeUnprovenIds(changes.unprovenIds)]),
    ...accounts.flatMap(({ writes }) => writes.statements),
  ];
  if (statements.length === 0 && !changes.confirmsEpoch) return undefined;
  // The change of each account is guarded by its own statements.
  const rows = await db.batchRows([fence(epoch), ...statements]);
  return (cluster) => {
    // The last rows are those of the accounts.
    let at = rows.length - accounts.reduce((sum, { writes }) => sum + writes.statements.length, 0);
    for (const { requested, writes } of accounts) {
      const own = rows.slice(at, at + writes.statements.length);
      at += own.length;
      writes.apply(cluster, own);
      requested.settled(writes.outcomeOf(own));
    }
  };
}

const updated = <T>(all: ReadonlySet<T>, fresh: { has(one: T): boolean }): T[] =>
  [...all].filter((one) => !fresh.has(one));

/** Names are unique, so a removed host must free its name before another one takes it. */
function hostsToWrite({ newHosts, hosts, removedHosts }: Changes): Statement[] {
  const hide = (host: Host) => {
    const removedMs = removedHosts.get(host);
    return removedMs === undefined ? [] : [hideHost(host, removedMs)];
  };
  const existing = [...removedHosts.keys()].filter((host) => !newHosts.has(host));
  return [
    ...existing.flatMap(hide),
    ...[...newHosts].flatMap((host) => [insertHost(host), ...hide(host)]),
    ...updated(hosts, newHosts).map(updateHost),
  ];
}

function servicesToWrite(changes: Changes): Statement[] {
  const fresh = new Set([...changes.newServices].flatMap(({ services }) => services));
  return [
    ...Array.from(fresh, insertService),
    ...updated(changes.services, fresh).map((service) => updateService(service, changes.moved.has(service))),
  ];
}

/** The insertion of a row raises the sequence of its table. */
function sequencesToRaise({ raisedIds, newExecutions, newServices }: Changes): Statement[] {
  if (!raisedIds) return [];
  const hasRow = { execution: false, service: false };
  for (const { id } of newExecutions.keys()) hasRow.execution ||= id === raisedIds.execution - 1;
  for (const { services } of newServices) hasRow.service ||= services.at(-1)?.id === raisedIds.service - 1;
  return raiseIds(raisedIds, hasRow);
}

const DELETED_USERS = 'SELECT id FROM users WHERE deleted = 1';

const LIVE = `(status NOT IN ('terminated', 'error') OR deleted = 1 OR user_id IN (${DELETED_USERS})) AND NOT (${WAITS})`;

/** `reads`: the same database, with reads that run together. */
async function loadCluster(db: Db, reads: Db, scheduling: SchedulerConfig): Promise<Cluster> {
  const [sequence, unknown, quotas, users, credentials, hosts, deleted, live, waiting] = await Promise.all([
    reads.query('SELECT name, seq FROM sqlite_sequence'),
    loadUnknown(reads),
    listQuotas(reads, {}),
    loadUsers(reads),
    loadCredentials(reads),
    reads.query('SELECT * FROM hosts WHERE removed_ms IS NULL'),
    reads.query(DELETED_USERS),
    pagedIds(reads, LIVE, []),
    listWaiting(reads),
  ]);
  const next = (table: string) => Number(sequence.find(({ name }) => name === table)?.seq ?? 0) + 1;
  const nextIds = { execution: next('executions'), service: next('services'), host: next('hosts') };
  const cluster = new Cluster(nextIds, scheduling);
  for (const range of unknown) cluster.unknown.push(range);
  for (const quota of quotas) cluster.setQuota(quota);
  for (const user of users) cluster.setUser(user);
  for (const one of credentials) cluster.credentials.set(one);
  for (const row of hosts) cluster.addHost(hostOf(row));
  const deletedUsers = new Set(deleted.map(({ id }) => Number(id)));
  const add = (execution: Execution) => {
    cluster.addExecution(execution);
    if (execution.deleted || !deletedUsers.has(execution.userId)) return;
    // The deletion of the user was interrupted before this execution.
    execution.deleted = true;
    cluster.touch(execution);
  };
  for (const ids of live) for (const execution of await loadExecutions(db, ids)) add(execution);
  await loadWaiting(db, waiting, add);
  return cluster;
}

/** An execution with its services, ended or not. */
export async function loadExecution(db: Db, id: number): Promise<Execution | undefined> {
  const [execution] = await loadExecutions(db, [id]);
  return execution;
}

/** The executions of these ids that exist, with their services, ended or not. */
export async function loadExecutions(db: Db, ids: readonly number[]): Promise<Execution[]> {
  const args = [JSON.stringify(ids)];
  const [executions, services] = await Promise.all([
    db.query('SELECT * FROM executions WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id', args),
    db.query(
      'SELECT * FROM services WHERE execution_id IN (SELECT value FROM json_each(?)) ORDER BY id',
      args,
    ),
  ]);
  const byExecution = Map.groupBy(services, (row) => Number(row.execution_id));
  return executions.map((row) => executionOf(row, byExecution.get(Number(row.id)) ?? []));
}
