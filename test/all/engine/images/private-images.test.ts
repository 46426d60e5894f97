/** Images that came with credentials of users: who else may use them at the real engine. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { DockerEngine } from '../../../../agent/engine/docker/docker-engine.ts';
import type { RegistryCredentials } from '../../../../shared/protocol/secrets.ts';
import { CPU_LIMIT, dockerRig, errorOf } from '../../../support/engines/docker-rig.ts';
import {
  LOGIN,
  OTHER_LOGIN,
  type RealRegistry,
  startRealRegistry,
} from '../../../support/registries/real-registry.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const { docker, makeEngine, assignment, scratch } = dockerRig('private');
let registry: RealRegistry;
let others: string[] = [];
beforeAll(async () => {
  registry = await startRealRegistry(docker, { requiresLogin: true });
});
afterEach(() => {
  registry.door.release();
  registry.door.isPublic = false;
});
afterAll(() => registry.close());

const noAbort = new AbortController().signal;

/** Another call is the next process of the agent. */
const agentEngine = () => makeEngine({ registries: [registry.host, ...others] });

const credentials = (id: string, login = LOGIN): RegistryCredentials => ({
  ...{ id, registry: registry.host, ofAll: false },
  ...login,
});
const ALICE = () => credentials('1.1');
const BOB = () => credentials('2.1', OTHER_LOGIN);
const MALLORY = () => credentials('3.1', { ...OTHER_LOGIN, password: 'guess' });

let services = 0;
/** What the agent does for one start: it pulls only if the engine requires it. Resolves to whether it did. */
async function start(engine: DockerEngine, image: string, by?: RegistryCredentials): Promise<boolean> {
  services += 1;
  const wanted = assignment({ service: services, image, ...(by && { credentials: by.id }) });
  const create = async () => engine.remove((await engine.create(wanted, CPU_LIMIT)).id);
  const error = await create().then(
    () => undefined,
    (failure) => failure,
  );
  if (error === undefined) return false;
  if (error.kind !== 'image-missing') throw error;
  await engine.pull(image, () => {}, noAbort, by);
  await create();
  return true;
}
const tagsOf = async (image: string): Promise<string[]> =>
  (await docker.getImage(image).inspect()).RepoTags.filter((tag) => tag.startsWith('private.berth.invalid/'));
const digestRef = async (image: string): Promise<string> =>
  (await docker.getImage(image).inspect()).RepoDigests.find((one) => one.startsWith(registry.host)) ?? '';

test('P235: an image that came with credentials is used again by those who have these, and by no others', async () => {
  const image = await registry.image('private');
  const engine = agentEngine();
  expect(await start(engine, image, ALICE())).toBe(true);
  expect(await start(engine, image, ALICE())).toBe(false);
  const { Id } = await docker.getImage(image).inspect();
  const tag = { repo: 'private-alias', tag: '1' };
  await docker.getImage(image).tag(tag);
  onTestFinished(() => docker.getImage('private-alias:1').remove());
  const [mark = ''] = await tagsOf(image);
  const names = [
    image,
    await digestRef(image),
    Id,
    Id.replace('sha256:', '').slice(0, 12),
    'private-alias:1',
    mark,
  ];
  for (const name of names)
    for (const by of [undefined, MALLORY()]) {
      const error = await errorOf(start(engine, name, by));
      // Without credentials the other names lead to registries that are away.
      const kind = by || name.startsWith(registry.host) ? 'permanent' : 'temporary';
      expect(error, name).toMatchObject({ name: 'EngineError', kind });
      expect(error.message).not.toMatch(/guess|secret/);
    }
  // The registry decides.
  expect(await start(engine, image, BOB())).toBe(true);
  expect(await start(engine, image, BOB())).toBe(false);
  expect(await start(engine, image, ALICE())).toBe(false);
});

test('P236: who may use an image survives the agent and its files', async () => {
  const image = await registry.image('kept');
  await start(agentEngine(), image, ALICE());
  expect(await start(agentEngine(), image, ALICE())).toBe(false);
  await errorOf(start(agentEngine(), image));
  const file = `${scratch()}/pulls.json`;
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readFile(file, 'utf8')).not.toContain(LOGIN.password);
  await rm(file);
  await rm(`${scratch()}/images.json`);
  const next = agentEngine();
  await errorOf(start(next, image));
  expect(await start(next, image, ALICE())).toBe(false);
});

test('P238: two users who pull an image at once each need their own right', async () => {
  const image = await registry.image('together');
  const engine = agentEngine();
  registry.door.hold();
  const pulls = [ALICE(), undefined, MALLORY(), BOB()].map((by) =>
    engine
      .pull(image, () => {}, noAbort, by)
      .then(
        () => true,
        () => false,
      ),
  );
  await eventually(() => registry.door.blobs.length > 0);
  registry.door.release();
  expect(await Promise.all(pulls)).toEqual([true, false, false, true]);
  for (const [by, may] of [
    [ALICE(), true],
    [undefined, false],
    [BOB(), true],
  ] as const)
    expect(
      await start(engine, image, by).then(
        (pulled) => !pulled,
        () => false,
      ),
    ).toBe(may);
});

test('P235: another registry cannot give out an image of which it has only the id', async () => {
  const image = await registry.image('forged');
  const engine = agentEngine();
  await start(engine, image, ALICE());
  const forger = await startForger((await docker.getImage(image).inspect()).Id);
  others = [forger.host];
  onTestFinished(() => {
    others = [];
    forger.close();
  });
  const error = await errorOf(start(agentEngine(), `${forger.host}/mine:1`));
  expect(error).toMatchObject({ kind: 'permanent', message: expect.stringContaining("can't verify") });
  expect(await registry.has(`${forger.host}/mine:1`)).toBe(false);
});

test('P238: a private image is removed with its marks once nobody uses it', async () => {
  const image = await registry.image('unused');
  const engine = agentEngine();
  await start(engine, image, ALICE());
  const removed = await engine.removeUnusedImage({ wanted: () => [], unusedMs: 0 });
  expect(removed).toMatchObject({ image });
  expect(await registry.has(image)).toBe(false);
  const left = await docker.listImages({ filters: { reference: ['private.berth.invalid/*/*/*'] } });
  const ids = left.map(({ Id }) => Id);
  for (const id of ids) expect((await docker.getImage(id).inspect()).RepoTags.length).toBeGreaterThan(1);
});

/** A registry of an attacker, which knows nothing of an image but its id. */
async function startForger(id: string) {
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: 'application/vnd.docker.distribution.manifest.v2+json',
    config: { mediaType: 'application/vnd.docker.container.image.v1+json', size: 1000, digest: id },
    layers: [],
  });
  const digest = `sha256:${createHash('sha256').update(manifest).digest('hex')}`;
  const server = createServer((request, response) => {
    if (request.url === '/v2/') return void response.writeHead(200).end('{}');
    if (!request.url?.includes('/manifests/')) return void response.writeHead(404).end();
    const headers = {
      'content-type': 'application/vnd.docker.distribution.manifest.v2+json',
      'docker-content-digest': digest,
      'content-length': Buffer.byteLength(manifest),
    };
    response.writeHead(200, headers).end(request.method === 'HEAD' ? undefined : manifest);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { host, close: () => server.close() };
}
