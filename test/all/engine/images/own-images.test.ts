/** Images that the agent pulled at the real engine, and who else may use them. */
import type Docker from 'dockerode';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { DockerEngine } from '../../../../agent/engine/docker/docker-engine.ts';
import { IMAGE } from '../../../../examples/image.ts';
import { dockerRig } from '../../../support/engines/docker-rig.ts';
import { type RealRegistry, startRealRegistry } from '../../../support/registries/real-registry.ts';

const DAY_MS = 86_400_000;
const { docker, makeEngine, scratch } = dockerRig('images');
let registry: RealRegistry;
beforeAll(async () => {
  registry = await startRealRegistry(docker);
});
afterAll(() => registry.close());

const noAbort = new AbortController().signal;
let nowMs = Date.now();

/** An agent's engine with the record of this test. Another call is the next process of the agent. */
const agentEngine = (changes: Parameters<typeof makeEngine>[0] = {}) =>
  makeEngine({
    ...changes,
    registries: [registry.host],
    images: { file: `${scratch()}/images.json`, log: () => {}, nowMs: () => nowMs },
  });
const pull = (engine: DockerEngine, image: string) => engine.pull(image, () => {}, noAbort);
const removeUnused = (engine: DockerEngine) =>
  engine.removeUnusedImage({ wanted: () => [], unusedMs: 14 * DAY_MS });
/** Days pass, during which the agent looks once. */
const days = (count: number) => {
  nowMs += count * DAY_MS;
};

/** A container that is not Berth's. It is removed after the test. */
async function foreignContainer(image: string): Promise<Docker.Container> {
  const container = await docker.createContainer({ Image: image, Cmd: ['true'] });
  onTestFinished(() => container.remove({ force: true }).catch(() => {}));
  return container;
}

test('P181, P182: a pulled image that nobody has used for 14 days is removed, also by the next process, and its size is reported', async () => {
  const image = await registry.image('aged');
  const engine = agentEngine();
  await pull(engine, image);
  expect(await removeUnused(engine)).toBeUndefined();
  days(13);
  expect(await removeUnused(engine)).toBeUndefined();
  days(1);
  const removed = await removeUnused(engine);
  expect(removed).toMatchObject({ image, unusedMs: 14 * DAY_MS });
  // The layer of this image alone. Engines before API 1.42 add the common one below it, which stays.
  const [layer, common] = [8_000_000, (await docker.getImage(IMAGE).inspect()).Size];
  expect([layer, layer + common]).toContain(removed?.bytes);
  expect(await registry.has(image)).toBe(false);
  expect(await registry.has(IMAGE)).toBe(true);
  await pull(engine, image);
  expect(await registry.has(image)).toBe(true);
  days(14);
  expect(await removeUnused(agentEngine())).toMatchObject({ image });
});

test('P183: an image that got another tag stays, and so does one from which another was built', async () => {
  const [tagged, parent] = [await registry.image('tagged'), await registry.image('parent')];
  const engine = agentEngine();
  await pull(engine, tagged);
  await pull(engine, parent);
  const [copy, child] = [`${registry.host}/copy`, `${registry.host}/child`];
  await docker.getImage(tagged).tag({ repo: copy, tag: '1' });
  const container = await foreignContainer(parent);
  await container.commit({ repo: child, tag: '1' });
  await container.remove();
  for (const image of [copy, child])
    onTestFinished(async () => void (await docker.getImage(`${image}:1`).remove()));
  days(20);
  expect(await removeUnused(engine)).toBeUndefined();
  expect([await registry.has(tagged), await registry.has(parent)]).toEqual([true, true]);
});
