/** Images that the agent pulled at the real engine, and who else may use them. */
import type Docker from 'dockerode';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { DockerEngine } from '../../../../agent/engine/docker/docker-engine.ts';
import { IMAGE } from '../../../../examples/image.ts';
import { CPU_LIMIT, dockerRig } from '../../../support/engines/docker-rig.ts';
import { type RealRegistry, startRealRegistry } from '../../../support/registries/real-registry.ts';

const DAY_MS = 86_400_000;
const { docker, makeEngine, assignment, scratch } = dockerRig('images');
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
/** As an operator does. */
const pullByHand = async (image: string) => {
  const stream = await docker.pull(image);
  await new Promise((done) => docker.modem.followProgress(stream, done));
};
const removeUnused = (engine: DockerEngine, wanted: string[] = [], days = 14) =>
  engine.removeUnusedImage({ wanted: () => wanted, unusedMs: days * DAY_MS });
/** Days pass, during which the agent looks once. */
const days = (count: number) => {
  nowMs += count * DAY_MS;
};
const tag = (image: string, repo: string) => docker.getImage(image).tag({ repo, tag: '1' });
const removeAfter = (image: string) =>
  onTestFinished(async () => {
    await docker
      .getImage(image)
      .remove()
      .catch(() => {});
  });

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
  const next = agentEngine();
  days(14);
  expect(await removeUnused(next)).toMatchObject({ image });
});

test('P182: the image that was used least recently goes first, one at a time', async () => {
  const [older, newer] = [await registry.image('older'), await registry.image('newer')];
  const engine = agentEngine();
  await pull(engine, newer);
  await pull(engine, older);
  days(1);
  await removeUnused(engine, [newer]);
  days(20);
  expect(await removeUnused(engine)).toMatchObject({ image: older });
  expect(await registry.has(newer)).toBe(true);
  expect(await removeUnused(engine)).toMatchObject({ image: newer });
  expect(await removeUnused(engine)).toBeUndefined();
});

test('P181: an image that the engine had before the pull stays', async () => {
  const image = await registry.image('before');
  await pullByHand(image);
  const engine = agentEngine();
  await pull(engine, image);
  days(100);
  expect(await removeUnused(engine)).toBeUndefined();
  expect(await registry.has(image)).toBe(true);
});

test('P181: an image stays if its name was given to another image, or if somebody removed and pulled it again', async () => {
  const image = await registry.image('renamed');
  const engine = agentEngine();
  await pull(engine, image);
  removeAfter((await docker.getImage(image).inspect()).Id);
  await tag(IMAGE, image.replace(/:1$/, ''));
  days(20);
  expect(await removeUnused(engine)).toBeUndefined();
  expect(await registry.has(image)).toBe(true);
  await docker.getImage(image).remove();
  await removeUnused(engine);
  await pullByHand(image);
  days(20);
  expect(await removeUnused(engine)).toBeUndefined();
  expect(await registry.has(image)).toBe(true);
});

test('P183: an image stays while a container has it, even a stopped one that is not of Berth', async () => {
  const image = await registry.image('contained');
  const engine = agentEngine();
  await pull(engine, image);
  const container = await foreignContainer(image);
  days(20);
  expect(await removeUnused(engine)).toBeUndefined();
  await container.remove();
  // Its last use was just seen.
  expect(await removeUnused(engine)).toBeUndefined();
  days(14);
  expect(await removeUnused(engine)).toMatchObject({ image });
});

test('P183: an image stays while a start wants it, and a container of Berth can then be made', async () => {
  const image = await registry.image('wanted');
  const engine = agentEngine();
  await pull(engine, image);
  days(20);
  expect(await removeUnused(engine, [image])).toBeUndefined();
  const { id } = await engine.create(assignment({ image }), CPU_LIMIT);
  days(20);
  expect(await removeUnused(engine)).toBeUndefined();
  await engine.remove(id);
});

test('P183: an image that got another tag stays, and so does one from which another was built', async () => {
  const [tagged, parent] = [await registry.image('tagged'), await registry.image('parent')];
  const engine = agentEngine();
  await pull(engine, tagged);
  await pull(engine, parent);
  const copy = `${registry.host}/copy:1`;
  await tag(tagged, copy.replace(/:1$/, ''));
  removeAfter(copy);
  const child = `${registry.host}/child`;
  const container = await foreignContainer(parent);
  await container.commit({ repo: child, tag: '1' });
  await container.remove();
  removeAfter(`${child}:1`);
  days(20);
  expect(await removeUnused(engine)).toBeUndefined();
  expect([await registry.has(tagged), await registry.has(parent)]).toEqual([true, true]);
});

test('P183: an image is never removed by force: one that a container took since the last look stays', async () => {
  const image = await registry.image('taken');
  const stale = Object.create(docker, { listContainers: { value: async () => [] } });
  const engine = agentEngine({ docker: stale, streams: docker });
  await pull(engine, image);
  await foreignContainer(image);
  days(20);
  expect(await removeUnused(engine)).toBeUndefined();
  expect(await registry.has(image)).toBe(true);
});

test('P183: an image stays if its pull begins before the removal, and is pulled anew if it begins after', async () => {
  const image = await registry.image('again');
  const engine = agentEngine();
  await pull(engine, image);
  days(20);
  /** Calls `then` at the first or second look: the second one is right before the request to remove. */
  const removeWhile = (look: 1 | 2, then: () => void) => {
    let looks = 0;
    const wanted = () => {
      looks += 1;
      if (looks === look) then();
      return [];
    };
    return engine.removeUnusedImage({ wanted, unusedMs: 14 * DAY_MS });
  };
  let pulled: Promise<void> | undefined;
  const begin = () => {
    pulled = pull(engine, image);
  };
  expect(await removeWhile(1, begin)).toBeUndefined();
  await pulled;
  expect(await removeWhile(2, () => setImmediate(begin))).toMatchObject({ image });
  await pulled;
  expect(await registry.has(image)).toBe(true);
});
