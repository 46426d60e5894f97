import { afterAll, beforeAll, expect, test } from 'vitest';
import { defaultSchedulerConfig } from '../../../control-plane/core/model/scheduler-config.ts';
import { demandText } from '../../../control-plane/core/scheduling/resource-demand.ts';
import type { Cluster } from '../../../control-plane/core/state/cluster.ts';
import { unloadWaiting } from '../../../control-plane/core/state/loading.ts';
import { commit, loadExecution, takeOver } from '../../../control-plane/store/cluster/cluster-rows.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { memoryDatabase } from '../../support/hosts/memory-database.ts';
import { CoreRig, hostFacts } from '../../support/rigs/core-rig.ts';
import { operation, Simulation } from '../../support/rigs/core-simulation.ts';
import { cases, fc } from '../../support/tools/random-cases.ts';

const CLAIMANT = { name: 'one', hasHeld: false };

let db: Db;
beforeAll(async () => {
  db = await memoryDatabase();
  // The second user of the simulation.
  await db.query(
    `INSERT INTO users (id, username, email, role_id, quota_id, auth_source, fs_uid, priority, enabled)
      SELECT 2, 'bob', email, role_id, quota_id, auth_source, fs_uid, priority, enabled FROM users WHERE id = 1`,
  );
});
afterAll(() => db.close());

/** The state that must survive a restart. Connections and times of contact are in memory only. */
function durable(cluster: Cluster) {
  // Plus 0, because the remainder of a sum may be a tiny negative number.
  const round = (cores: number) => Math.round(cores * 1e6) / 1e6 + 0;
  return {
    nextIds: cluster.nextIds,
    usages: [1, 2].map((userId) => cluster.usage(userId)),
    admitted: [...cluster.admitted].map(({ id }) => id).toSorted((a, b) => a - b),
    hosts: [...cluster.hosts.values()]
      .map(({ reservedCores, elasticCores, ...host }) => ({
        ...{ ...host, reservedCores: round(reservedCores), elasticCores: round(elasticCores) },
        ...{ connected: false, lastContactMs: 0, backfillReservedMemoryBytes: 0, backfillReservedCores: 0 },
      }))
      .toSorted((a, b) => a.id - b.id),
    servicesAt: [...cluster.hosts.keys()].map((id) =>
      [...cluster.servicesAt(id)].map((service) => service.id).toSorted(),
    ),
    executions: [...cluster.executions.values()]
      .map((execution) => ({
        ...execution,
        demand: demandText(execution.demand),
        services: execution.services.map((service) => ({
          ...service,
          logs: service.logs === 'forgetting' ? 'kept' : service.logs,
        })),
      }))
      .toSorted((a, b) => a.id - b.id),
  };
}

async function clear(): Promise<void> {
  for (const table of ['executions', 'hosts', 'sqlite_sequence']) await db.query(`DELETE FROM ${table}`);
}

test('C41: state that is committed and read again equals the state in memory, with the next ids, after any operations', async () => {
  let executions = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(operation, { minLength: 10, maxLength: 80, size: 'max' }),
      fc.nat({ max: 10 }),
      async (operations, skippedTurns) => {
        await clear();
        const simulation = new Simulation();
        const { cluster } = simulation.rig;
        let { epoch } = await takeOver(db, cluster.schedulerConfig, CLAIMANT);
        for (const [index, one] of operations.entries()) {
          simulation.run([one]);
          // A commit may cover one turn or several.
          if (index % (skippedTurns + 1) === 0) await commit(db, epoch, cluster.takeChanges());
        }
        await commit(db, epoch, cluster.takeChanges());
        unloadWaiting(cluster);
        const read = await takeOver(db, cluster.schedulerConfig, CLAIMANT);
        epoch = read.epoch;
        expect(durable(read.cluster)).toEqual(durable(cluster));
        executions += read.cluster.executions.size;
        for (const execution of simulation.submitted) {
          if (cluster.executions.has(execution.id)) continue;
          const stored = await loadExecution(db, execution.id);
          if (execution.deleted) expect(stored).toBeUndefined();
          else {
            const services = execution.hasServiceRows ? execution.services : [];
            expect({ ...stored, demand: demandText(stored?.demand ?? execution.demand) }).toEqual({
              ...execution,
              services,
              demand: demandText(execution.demand),
            });
          }
        }
      },
    ),
    cases(15),
  );
  expect(executions).toBeGreaterThan(10);
});

test('C41: what is rare is read again, too: forgotten logs, restarts, leases and skipped ids', async () => {
  await clear();
  const { epoch } = await takeOver(db, defaultSchedulerConfig, CLAIMANT);
  const rig = new CoreRig();
  const { cluster } = rig;
  const host = rig.hello(hostFacts('one'));
  const [web] = rig.submit().services;
  if (!web) throw new Error('no service');
  rig.turn();
  Object.assign(web, { logs: 'forgotten', restartAtMs: 5_000, deathsMs: [3_000, 4_000] });
  Object.assign(host, { leaseMs: 90_000, silentSinceMs: 2_000, lost: true, schedulable: false });
  cluster.touch(web);
  cluster.changes.hosts.add(host);
  cluster.changes.unknown.add({ first: 8, last: 9 });
  cluster.changes.unprovenIds = 7;
  await commit(db, epoch, cluster.takeChanges());
  const read = (await takeOver(db, cluster.schedulerConfig, CLAIMANT)).cluster;
  expect(durable(read)).toEqual(durable(cluster));
  expect(read.services.get(web.id)).toMatchObject({ logs: 'forgotten', restartAtMs: 5_000 });
  expect(read.hosts.get(host.id)).toMatchObject({ leaseMs: 90_000, silentSinceMs: 2_000, lost: true });
  expect([read.unknown, read.unprovenIds]).toEqual([[{ first: 8, last: 9 }], 7]);
  // A commit without changes writes nothing, and so does not fail after a takeover.
  await expect(commit(db, epoch, cluster.takeChanges())).resolves.toBeUndefined();
});
