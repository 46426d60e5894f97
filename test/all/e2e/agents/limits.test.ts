/** Cores and memory of containers: their shares and limits, and what happens where there is not enough. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiClient } from '../../../support/clients/api-client.ts';
import { testEngine } from '../../../support/engines/engine.ts';
import { application, script, service } from '../../../support/fixtures/descriptions.ts';
import { type Berth, startBerth } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const DEPLOYMENT = 'e2e-limits';
/** The cores that the host offers, whatever machine this is. */
const OFFERED = 1.5;
const LIMIT_MS = 60_000;

let berth: Berth;

beforeAll(async () => {
  const { NCPU } = await (await testEngine()).info();
  const env = {
    BERTH_AGENT_RESERVE: `cores=${NCPU - OFFERED}`,
    BERTH_LIMITS: JSON.stringify({ defaultMemoryBytes: '16MiB' }),
  };
  berth = await startBerth({ deployment: DEPLOYMENT, env });
});
afterAll(() => berth.close());

type Range = [min: number | null, max: number | null];

/** Runs one service that requests these cores and this memory. */
async function run([min, max]: Range, memory: Range = [null, null], api = berth.api): Promise<number> {
  const resources = { memory: { min: memory[0], max: memory[1] }, cores: { min, max } };
  const id = await api.run(application(service({ command: 'sleep 1000', resources })));
  return id;
}

/** What the engine has set for the container of an execution. */
async function settingsOf(id: number) {
  const [container] = await berth.containersOf(id);
  return (await berth.docker.getContainer(String(container?.Id)).inspect()).HostConfig;
}

const limitOf = async (id: number): Promise<number> => ((await settingsOf(id)).NanoCpus ?? 0) / 1e9;

const reaches = (id: number, cores: number) =>
  eventually(async () => {
    return expect(await limitOf(id)).toBeCloseTo(cores, 5);
  }, LIMIT_MS);

test('C80, C212: the containers of a user get no more cores than the quota while another user has containers there', async () => {
  const post = async (path: string, fields: Record<string, unknown>) => {
    const { status, text } = await berth.api.http.post(path, fields);
    expect(status, text).toBe(200);
    return text || '{}';
  };
  const caps = { concurrent_executions: 0, memory: 0, cores: 1 };
  const { quota_id } = JSON.parse(await post('quota', { name: 'one core', ...caps }));
  const password = 'secret words';
  const { user_id } = JSON.parse(await post('user', { username: 'capped', role_id: 3, quota_id }));
  await post(`user/${user_id}`, { password });
  const capped = new ApiClient(berth.url, 'capped', password);
  const mine = [];
  for (let count = 0; count < 3; count++) mine.push(await run([0.1, null], [null, null], capped));
  const alone = Math.floor((100 * OFFERED) / 3) / 100;
  for (const id of mine) await reaches(id, alone);
  const other = await run([0.1, null]);
  for (const id of mine) await reaches(id, 0.33);
  await reaches(other, OFFERED - 1);
  await berth.api.end(other);
  for (const id of mine) await reaches(id, alone);
  await berth.api.end(...mine);
});

test('C10, C199: a container that takes more memory than its limit ends, with a message that names the cause', async () => {
  const id = await berth.api.submit(application(script('x=a; while true; do x=$x$x; done')));
  // The engine may have lost the reason (CONT-18).
  expect((await berth.api.waitFor(id, 'error')).error_message).toMatch(
    /^service main0 ended with exit code 137 \((killed by SIGKILL, perhaps )?out of memory\)$/,
  );
});
