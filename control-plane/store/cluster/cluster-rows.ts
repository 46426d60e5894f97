/** Rows of the coordinator's state: loads them into a Cluster, and writes the changes of a turn. */

import type { Execution } from '../../core/model/execution.ts';
import type { Host } from '../../core/model/host.ts';
import type { SchedulerConfig } from '../../core/model/scheduler-config.ts';
import type { Changes } from '../../core/state/changes.ts';
import { Cluster } from '../../core/state/cluster.ts';
import { useJoinToken } from '../accounts/join-tokens.ts';
import { listQuotas } from '../accounts/quotas.ts';
import { loadUsers, purgeUsers } from '../accounts/user-rows.ts';
import type { Db, Statement } from '../db/db.ts';
import { type Claimant, claimEpoch, type Epoch, fence } from '../db/epoch.ts';
import { pagedIds } from '../db/pages.ts';
import { loadIdKey, loadUnknown, raiseIds, writeUnknown, writeUnprovenIds } from '../schema/id-sequences.ts';
import { executionOf, insertExecution, updateExecution } from './execution-rows.ts';
import type { ReviewRecord } from './history-rows.ts';
import { hideHost, hostOf, insertHost, updateHost } from './host-rows.ts';
import { insertService, updateService } from './service-rows.ts';
import { loadWaiting, WAITS } from './waiting-rows.ts';

/**
 * Takes the next epoch, calls `claimed` with it, and reads all live state and the key of the proofs of ids.
 * Earlier coordinators cannot commit afterwards.
 */
export async function takeOver(
  db: Db,
  scheduling: SchedulerConfig,
  claimant: Claimant,
  claimed: (epoch: Epoch) => void = () => {},
): Promise<{ epoch: Epoch; cluster: Cluster; idKey: string; reviewRecord: ReviewRecord }> {
  const epoch = await claimEpoch(db, claimant);
  claimed(epoch);
  const cluster = await loadCluster(db, epoch, scheduling);
  const idKey = await loadIdKey(db);
  const [row] = await db.query('SELECT unproven_ids, keep_ended_days, reviewed_ms FROM coordinator LIMIT 1');
  cluster.unprovenIds = Number(row?.unproven_ids);
  const reviewRecord = { keepDays: Number(row?.keep_ended_days), reviewedMs: Number(row?.reviewed_ms) };
  return { epoch, cluster, idKey, reviewRecord };
}

/** Writes all changes in one transaction. Rejects if a later coordinator has taken over. */
export async function commit(db: Db, epoch: Epoch, changes: Changes): Promise<void> {
  const statements = [
    ...hostsToWrite(changes),
    ...Array.from(changes.usedTokens, useJoinToken),
    ...Array.from(changes.newExecutions, ([execution, { text }]) => insertExecution(execution, text)),
    ...updated(changes.executions, changes.newExecutions).map(updateExecution),
    ...servicesToWrite(changes),
    ...Array.from(changes.purged, ({ id }) => ({ sql: 'DELETE FROM executions WHERE id = ?', args: [id] })),
    // The row of a deleted user is removed with the last of its executions.
    ...(changes.purged.size > 0 ? [purgeUsers] : []),
    ...Array.from(changes.unknown, writeUnknown),
    ...sequencesToRaise(changes),
    ...(changes.unprovenIds === null ? [] : [writeUnprovenIds(changes.unprovenIds)]),
  ];
  if (statements.length === 0 && !changes.confirmsEpoch) return;
  await db.batch([fence(epoch), ...statements]);
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
  return [...Array.from(fresh, insertService), ...updated(changes.services, fresh).map(updateService)];
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

async function loadCluster(db: Db, epoch: Epoch, scheduling: SchedulerConfig): Promise<Cluster> {
  const sequence = await db.query('SELECT name, seq FROM sqlite_sequence');
  const next = (table: string) => Number(sequence.find(({ name }) => name === table)?.seq ?? 0) + 1;
  const nextIds = { execution: next('executions'), service: next('services'), host: next('hosts') };
  const cluster = new Cluster(nextIds, scheduling);
  for (const range of await loadUnknown(db)) cluster.unknown.push(range);
  for (const quota of await listQuotas(db, {})) cluster.setQuota(quota);
  for (const user of await loadUsers(db)) cluster.setUser(user);
  for (const row of await db.query('SELECT * FROM hosts WHERE removed_ms IS NULL'))
    cluster.addHost(hostOf(row));
  const deletedUsers = new Set((await db.query(DELETED_USERS)).map(({ id }) => Number(id)));
  const live = await pagedIds(
    db,
    `(status NOT IN ('terminated', 'error') OR deleted = 1 OR user_id IN (${DELETED_USERS})) AND NOT (${WAITS})`,
    [],
  );
  const add = (execution: Execution) => {
    cluster.addExecution(execution);
    if (execution.deleted || !deletedUsers.has(execution.userId)) return;
    // The deletion of the user was interrupted before this execution.
    execution.deleted = true;
    cluster.touch(execution);
  };
  for (const ids of live) for (const execution of await loadExecutions(db, ids)) add(execution);
  await loadWaiting(db, epoch, add);
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
