import { beforeEach, expect, test } from 'vitest';
import { defaultSchedulerConfig } from '../../../control-plane/core/model/scheduler-config.ts';
import type { Cluster } from '../../../control-plane/core/state/cluster.ts';
import { takeOver } from '../../../control-plane/store/cluster/cluster-rows.ts';
import { insertExecution } from '../../../control-plane/store/cluster/execution-rows.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { application, needs, service } from '../../support/fixtures/applications.ts';
import { testDatabase } from '../../support/hosts/memory-database.ts';
import { loadedExecution } from '../../support/rigs/core-rig.ts';

const CLAIMANT = { name: 'one', hasHeld: false };
const described = application(
  service({ total_count: 3, essential_count: 2, resources: needs(100, 1) }),
  service({ name: 'side', resources: needs(200, 0.5), labels: ['gpu'] }),
);
const submission = { userId: 1, name: 'run', application: described, description: JSON.stringify(described) };

let db: Db;
beforeEach(async () => {
  db = await testDatabase();
});

async function insertWaiting(count: number): Promise<void> {
  const ids = { execution: 1, service: 1, host: 1 };
  for (let at = 0; at < count; at++)
    await db.batch([insertExecution(loadedExecution(ids, submission, 1_000), submission.description)]);
}

const waiting = ({ executions }: Cluster) => [...executions.values()];

test('C174, C175: what waits is read without descriptions and services when the control plane starts, and equal demands are one object', async () => {
  await insertWaiting(3);
  const { cluster } = await takeOver(db, defaultSchedulerConfig, CLAIMANT);
  expect(waiting(cluster)).toMatchObject(
    [1, 5, 9].map((firstServiceId) => ({
      ...{ firstServiceId, serviceCount: 4, hasServiceRows: false, description: null, services: [] },
      demand: {
        weight: 3,
        needs: [
          { count: 1, memoryBytes: 200, limitBytes: 200, cores: 0.5, labels: ['gpu'], weight: 1 },
          { count: 2, memoryBytes: 100, limitBytes: 100, cores: 1, labels: [], weight: 1 },
        ],
        reserved: { memoryBytes: 400, cores: 2.5 },
      },
      descriptionBytes: submission.description.length,
    })),
  );
  expect(cluster.services.size).toBe(0);
  expect(new Set(waiting(cluster).map(({ demand }) => demand)).size).toBe(1);
});

test('C175: a database beyond the bounds is read all the same, and then admits nothing', async () => {
  await insertWaiting(4);
  const bounds = { ...defaultSchedulerConfig.bounds, waiting: 2, waitingPerUser: 1 };
  const { cluster } = await takeOver(db, { ...defaultSchedulerConfig, bounds }, CLAIMANT);
  expect(cluster.counts.waiting).toBe(4);
  const bytes = 4 * submission.description.length;
  expect(cluster.counts.waitingOf(1)).toEqual({ executions: 4, bytes });
});
