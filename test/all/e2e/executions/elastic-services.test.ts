/** Elastic services on a real engine: they start, die and restart, and essential services preempt them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServiceDescription } from '../../../../shared/application-schema.ts';
import { testEngine } from '../../../support/engines/engine.ts';
import { application, script } from '../../../support/fixtures/descriptions.ts';
import { type Berth, startBerth } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const DEPLOYMENT = 'e2e-elastic';
let berth: Berth;

beforeAll(async () => {
  // A host of one core, whatever the machine has. The quota of a new installation allows that.
  const { NCPU } = await (await testEngine()).info();
  berth = await startBerth({ deployment: DEPLOYMENT, env: { BERTH_AGENT_RESERVE: `cores=${NCPU - 1}` } });
});
afterAll(() => berth.close());

test('C16, C66, C67, C68: elastic instances start, die, restart, are preempted, and restart after that', async () => {
  const { api, docker } = berth;
  const share = (cores: number): Pick<ServiceDescription, 'resources'> => ({
    resources: { memory: { min: null, max: null }, cores: { min: cores, max: null } },
  });
  const id = await api.submit(
    application(
      script('sleep 1000'),
      script('sleep 1000', {
        name: 'work',
        monitor: false,
        total_count: 2,
        essential_count: 0,
        ...share(0.4),
      }),
    ),
  );
  const container = (name: string) => `${name}-${id}-${DEPLOYMENT}`;
  const statuses = async () => (await api.services(id)).map(({ status }) => status);
  const reached = (...wanted: string[]) =>
    eventually(async () => JSON.stringify(await statuses()) === JSON.stringify(wanted), 60_000);
  await reached('active', 'active', 'active');
  expect((await api.discover(id, 'work')).toSorted()).toEqual([container('work0'), container('work1')]);
  expect((await api.execution(id)).status).toBe('running');

  const [, first] = await api.services(id);
  await docker.getContainer(String(first?.backend_id)).kill();
  await eventually(async () => {
    const [, now] = await api.services(id);
    return now?.status === 'active' && now.backend_id !== first?.backend_id;
  }, 60_000);
  await reached('active', 'active', 'active');

  const rigid = await api.submit(application(script('sleep 1000', share(0.5))));
  await api.waitFor(rigid, 'running', 60_000);
  expect(await statuses()).toEqual(['active', 'active', 'inactive']);
  expect(await api.discover(id, 'work')).toEqual([container('work0')]);
  expect(await berth.containersOf(id)).toHaveLength(2);

  await api.terminate(rigid);
  await api.waitFor(rigid, 'terminated');
  await reached('active', 'active', 'active');
  const [main, work0, work1] = await api.services(id);
  expect([main?.error_message, work1?.error_message]).toEqual([null, null]);
  expect(work0?.status).toBe('active');
  expect(await api.execution(id)).toMatchObject({ status: 'running', error_message: null });
  await api.terminate(id);
  await api.waitFor(id, 'terminated');
  expect(await berth.containersOf(id)).toEqual([]);
});
