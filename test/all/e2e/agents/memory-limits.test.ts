/** The memory that containers may use, which is what counts under the quota of their user. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { application, script, service } from '../../../support/fixtures/descriptions.ts';
import { type Berth, startBerth } from '../../../support/rigs/berth.ts';

const MIB = 2 ** 20;

let berth: Berth;

beforeAll(async () => {
  berth = await startBerth({ deployment: 'e2e-memory', env: { BERTH_DEFAULT_MEMORY: '16MiB' } });
});

afterAll(() => berth.close());

const resources = (min: number | null, max: number | null) => ({
  memory: { min, max },
  cores: { min: 0.1, max: null },
});

test.each<[string, number | null, number | null]>([
  ['that has neither a minimum nor a maximum', null, null],
  ['with a maximum of 0', 0, 0],
])('C199: a container %s is limited to the default, and ends when it takes more', async (_, min, max) => {
  const greedy = script('x=a; while true; do x=$x$x; done', { resources: resources(min, max) });
  const id = await berth.api.submit(application(greedy));
  const ended = await berth.api.waitFor(id, 'error');
  expect(ended.error_message).toMatch(/exit code 137|out of memory/);
});

test.each<[string, number | null, number | null, number]>([
  ['the default', null, null, 16 * MIB],
  ['its minimum', 32 * MIB, null, 32 * MIB],
  ['its maximum', 8 * MIB, 24 * MIB, 24 * MIB],
])('C199: the limit of a container is %s, without swap beyond it', async (_, min, max, limit) => {
  const id = await berth.api.submit(
    application(service({ command: 'sleep 1000', resources: resources(min, max) })),
  );
  await berth.api.waitFor(id, 'running');
  const [container] = await berth.containersOf(id);
  const { HostConfig } = await berth.docker.getContainer(String(container?.Id)).inspect();
  expect([HostConfig.Memory, HostConfig.MemorySwap]).toEqual([limit, limit]);
  await berth.api.terminate(id);
  await berth.api.waitFor(id, 'terminated');
});
