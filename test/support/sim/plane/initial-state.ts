/** Initial state of a simulated control plane: its scheduler config, accounts and rows of hosts. */
import { type Bounds, defaultBounds } from '../../../../control-plane/core/model/bounds.ts';
import { newHost } from '../../../../control-plane/core/model/host.ts';
import {
  defaultSchedulerConfig,
  type SchedulerConfig,
} from '../../../../control-plane/core/model/scheduler-config.ts';
import { insertHost } from '../../../../control-plane/store/cluster/host-rows.ts';
import { pickOne } from '../../tools/random.ts';
import type { Store } from '../world/store.ts';
import type { World } from '../world/time.ts';

/** Bytes, as the tiny hosts and quotas of a simulation need it. */
export const DEFAULT_MEMORY = 10;

/** Bounds that the users of a run reach. */
const smallBounds: Bounds = {
  waiting: 30,
  waitingPerUser: 20,
  waitingBytesPerUser: 20_000,
  placedInstances: 8,
  instancesPerExecution: 5,
  textBytesPerExecution: 2 ** 23,
  adoptedInstances: 1_000,
  unprovenIds: 40,
  idempotencyKeysPerUser: 10_000,
  auditRows: 1_000,
  auditDays: 90,
};

/**
 * Some worlds requeue the services of lost hosts. Such worlds mark hosts as lost sooner. In some worlds the
 * queue has small bounds.
 */
export function randomSchedulerConfig(world: World): SchedulerConfig {
  const hostLossPolicy = world.chance(0.4) ? 'requeue' : 'wait';
  const lostAfterMs = world.pick(
    hostLossPolicy === 'requeue' ? [10_000, 20_000, 30_000] : [20_000, 90_000, 90_000],
  );
  const bounds = world.chance(0.4) ? smallBounds : defaultBounds;
  return {
    ...defaultSchedulerConfig,
    hostLossPolicy,
    lostAfterMs,
    defaultMemoryBytes: DEFAULT_MEMORY,
    bounds,
  };
}

/**
 * Adds a second user, whose quota has limits. The two UPDATE statements show the initial rows to the checks.
 */
export async function addAccounts({ db }: Store): Promise<void> {
  await db.query(
    `INSERT INTO quotas (id, name, concurrent_executions, memory, cores) VALUES (2, 'small', 3, 80, 2)`,
  );
  await db.query(
    `INSERT INTO users (id, username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled)
      VALUES (2, 'bob', '', 1, 2, 'internal', 1001, 0, 1)`,
  );
  await db.query('UPDATE quotas SET name = name');
  await db.query('UPDATE users SET email = email');
}

export async function registerHosts(
  store: Store,
  hosts: readonly { name: string; hostId: number }[],
): Promise<void> {
  for (const { name, hostId } of hosts) await store.db.batch([insertHost(newHost(hostId, name, 0))]);
  await store.publish();
}

/**
 * Time for which ended executions are kept; null: longer than any run lasts. Drawn apart from the other
 * choices of the seed.
 */
export function randomKeepMs({ randomApart }: World): number | null {
  if (randomApart() >= 0.3) return null;
  return pickOne(randomApart, [2_000, 15_000, 60_000]) ?? null;
}
