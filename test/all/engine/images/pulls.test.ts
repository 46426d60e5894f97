/** Pulls of the real engine from a real registry that requires credentials. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { dockerRig, errorOf } from '../../../support/engines/docker-rig.ts';
import { LOGIN, type RealRegistry, startRealRegistry } from '../../../support/registries/real-registry.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const { docker, makeEngine, scratch } = dockerRig('pulls');
let registry: RealRegistry;
beforeAll(async () => {
  registry = await startRealRegistry(docker, { requiresLogin: true });
});
afterEach(() => registry.door.release());
afterAll(() => registry.close());

const auth = ({ username, password }: typeof LOGIN) =>
  Buffer.from(`${username}:${password}`).toString('base64');
const noAbort = new AbortController().signal;

async function engineWith(config: unknown, stallMs = 10_000) {
  const env = { DOCKER_CONFIG: await registry.config(config), PATH: `${scratch()}:${process.env.PATH}` };
  const pull = { env, registries: [registry.host], stallMs, progressEveryMs: 0, retryMs: 1 };
  return makeEngine({ pull });
}
const authorisedEngine = (stallMs?: number) =>
  engineWith({ auths: { [registry.host]: { auth: auth(LOGIN) } } }, stallMs);

test('P43: without credentials, with wrong ones, or for an image that the registry lacks, a pull fails permanently with the text of the engine', async () => {
  const image = await registry.image('refused');
  const wrong = { auths: { [registry.host]: { auth: auth({ ...LOGIN, password: 'guess' }) } } };
  for (const [config, words] of [
    [{}, 'no basic auth credentials'],
    [wrong, 'unauthorized: authentication required'],
  ] as const) {
    const error = await errorOf((await engineWith(config)).pull(image, () => {}, noAbort));
    expect(error).toMatchObject({ kind: 'permanent', message: expect.stringContaining(words) });
    expect(error.message).not.toContain('guess');
  }
  const missing = (await authorisedEngine()).pull(`${registry.host}/none:500`, () => {}, noAbort);
  expect(await errorOf(missing)).toMatchObject({
    kind: 'permanent',
    message: expect.stringContaining('not found'),
  });
});

test('P44: a pull is cancelled at the engine once its last caller gives up, and not before', async () => {
  const image = await registry.image('shared');
  const engine = await authorisedEngine();
  registry.door.hold();
  const [one, two] = [new AbortController(), new AbortController()];
  const pulls = [one, two].map(({ signal }) => errorOf(engine.pull(image, () => {}, signal)));
  await eventually(() => registry.door.holds);
  one.abort();
  expect(await pulls[0]).toMatchObject({
    kind: 'temporary',
    message: expect.stringContaining('no service waits for the image'),
  });
  expect(registry.door.blobs.some(({ left }) => left)).toBe(false);
  two.abort();
  // The engine leaves when more bytes of the layer arrive, not before.
  await eventually(() => {
    registry.door.trickle();
    return registry.door.blobs.some(({ left }) => left);
  });
  expect(await registry.has(image)).toBe(false);
});

test('P45: credentials come from the helper that the config names for the registry', async () => {
  const image = await registry.image('helped');
  const helper = `${scratch()}/docker-credential-test`;
  await mkdir(scratch(), { recursive: true });
  const answer = { ServerURL: registry.host, Username: LOGIN.username, Secret: LOGIN.password };
  await writeFile(
    helper,
    `#!/bin/sh\ntest "$1" = get && test "$(cat)" = ${registry.host} && echo '${JSON.stringify(answer)}'\n`,
  );
  await chmod(helper, 0o700);
  const engine = await engineWith({ credHelpers: { [registry.host]: 'test' } });
  await engine.pull(image, () => {}, noAbort);
  expect(await registry.has(image)).toBe(true);
});
