/** Images that the engine does not have, from a real registry that requires a login. */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { testEngine } from '../../../support/engines/engine.ts';
import { filesWith, secretSettings } from '../../../support/engines/secret-check.ts';
import { application, service } from '../../../support/fixtures/descriptions.ts';
import { LOGIN, type RealRegistry, startRealRegistry } from '../../../support/registries/real-registry.ts';
import { type Berth, startBerth } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let registry: RealRegistry;
/** The host itself has no login for it. */
let ofUsers: RealRegistry;
let berth: Berth;

beforeAll(async () => {
  registry = await startRealRegistry(await testEngine(), { requiresLogin: true });
  const auth = Buffer.from(`${LOGIN.username}:${LOGIN.password}`).toString('base64');
  const config = await registry.config({ auths: { [registry.host]: { auth } } });
  ofUsers = await startRealRegistry(await testEngine(), { requiresLogin: true });
  berth = await startBerth({
    deployment: 'e2e-pulls',
    env: {
      DOCKER_CONFIG: config,
      BERTH_AGENT_REGISTRIES: `${registry.host},${ofUsers.host}`,
      ...secretSettings(),
    },
  });
});
afterEach(() => registry.door.release());
afterAll(async () => {
  await berth
    .close()
    .finally(() => registry.close())
    .finally(() => ofUsers.close());
});

const running = (image: string) => application(service({ image, command: 'sleep 1000' }));
/** The progress in `GET service/<id>`. */
const progressOf = async (id: number): Promise<string | undefined> => {
  const [one = 0] = (await berth.api.execution(id)).services;
  return (await berth.api.http.get(`service/${one}`)).json<{ progress?: string }>().progress;
};

test('P43, P44, C85: an image is pulled once for all its services, its progress is shown, and later services find it', async () => {
  const { api } = berth;
  const image = await registry.image('shared');
  registry.door.hold();
  const pulling = await Promise.all([api.submit(running(image)), api.submit(running(image))]);
  for (const id of pulling) {
    await eventually(async () =>
      expect(await progressOf(id)).toMatch(/^pulling .*shared:1 \d+% of 8\.0 MB$/),
    );
    const { waiting_for } = await api.explain(id);
    expect(waiting_for.join()).toMatch(/being prepared on host .* \(pulling .*shared:1 \d+% of/);
  }
  registry.door.release();
  for (const id of pulling) await api.waitFor(id, 'running');
  const requestCount = registry.door.blobs.length;
  expect(new Set(registry.door.blobs.map(({ path }) => path)).size).toBe(requestCount);
  const later = await api.run(running(image));
  expect(registry.door.blobs.length).toBe(requestCount);
  await api.end(...pulling, later);
});

test('P232, P233, P235: a user pulls with own credentials, which the host does not keep, and others need their own', async () => {
  const { api } = berth;
  const image = await ofUsers.image('owned');
  const refused = await api.waitFor(await api.submit(running(image)), 'error');
  expect(refused.error_message).toContain(`berth registry set ${ofUsers.host}`);
  const set = async (password: string): Promise<number> => {
    const credentials = { registry: ofUsers.host, username: LOGIN.username, password };
    return (await api.http.post('registry', credentials)).json<{ registry_id: number }>().registry_id;
  };
  const wrong = `wrong-${randomUUID()}`;
  await set(wrong);
  const failed = await api.waitFor(await api.submit(running(image)), 'error');
  expect(failed.error_message).toContain(`your credentials for ${ofUsers.host} were refused`);
  expect(failed.error_message).not.toContain(wrong);
  const credentials = await set(LOGIN.password);
  const id = await api.run(running(image));
  const requestCount = ofUsers.door.manifests.length;
  const again = await api.run(running(image));
  expect(ofUsers.door.manifests.length).toBe(requestCount);
  expect(await filesWith(berth.dataDir, wrong)).toEqual([]);
  expect(berth.program.output).not.toContain(wrong);
  await api.http.delete(`registry/${credentials}`);
  const without = await api.waitFor(await api.submit(running(image)), 'error');
  expect(without.error_message).toContain('no basic auth credentials');
  await api.end(id, again);
});
