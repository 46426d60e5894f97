/** Pulls of the real engine from a real registry, which asks for credentials. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { dockerRig, errorOf } from '../support/engines/docker-rig.ts';
import { LOGIN, type RealRegistry, startRealRegistry } from '../support/registries/real-registry.ts';
import { eventually } from '../support/tools/eventually.ts';

const { docker, makeEngine, scratch } = dockerRig('pulls');
let registry: RealRegistry;
beforeAll(async () => {
  registry = await startRealRegistry(docker, { asks: true });
});
afterEach(() => registry.door.release());
afterAll(() => registry.close());

const auth = ({ username, password }: typeof LOGIN) =>
  Buffer.from(`${username}:${password}`).toString('base64');
const nobody = new AbortController().signal;

/** An engine with these credentials. */
async function engineWith(config: unknown, stallMs = 10_000) {
  const env = { DOCKER_CONFIG: await registry.config(config), PATH: `${scratch()}:${process.env.PATH}` };
  const pull = { env, stallMs, progressEveryMs: 0, retryMs: 1 };
  return makeEngine({ pull });
}
const welcome = (stallMs?: number) =>
  engineWith({ auths: { [registry.host]: { auth: auth(LOGIN) } } }, stallMs);

test('P43: an image is pulled with the credentials of its registry, and progress is told', async () => {
  const image = await registry.image('told');
  const told: string[] = [];
  await (await welcome()).pull(image, (detail) => told.push(detail), nobody);
  expect(await registry.has(image)).toBe(true);
  expect(told.at(-1)).toBe(`pulling ${image} 100% of 8.0 MB`);
});

test('P43: without credentials, and with wrong ones, a pull fails for good in the words of the engine', async () => {
  const image = await registry.image('refused');
  const wrong = { auths: { [registry.host]: { auth: auth({ ...LOGIN, password: 'guess' }) } } };
  for (const [config, words] of [
    [{}, 'no basic auth credentials'],
    [wrong, 'unauthorized: authentication required'],
  ] as const) {
    const error = await errorOf((await engineWith(config)).pull(image, () => {}, nobody));
    expect(error).toMatchObject({ kind: 'permanent', message: expect.stringContaining(words) });
    expect(error.message).not.toContain('guess');
  }
});

test('P43: an image that the registry does not have fails for good', async () => {
  const error = await errorOf((await welcome()).pull(`${registry.host}/none:500`, () => {}, nobody));
  expect(error).toMatchObject({ kind: 'permanent', message: expect.stringContaining('not found') });
});

test('P44: a pull that stands still in the middle of a layer is given up for now', async () => {
  const image = await registry.image('stalls');
  registry.door.hold();
  const error = await errorOf((await welcome(500)).pull(image, () => {}, nobody));
  registry.door.release();
  expect(error).toMatchObject({ kind: 'temporary', message: `pulling ${image}: no progress for 1 s` });
  // The next try takes up where it was.
  await (await welcome()).pull(image, () => {}, nobody);
});

test('P44: a pull that nobody waits for any more is cancelled at the engine; what others wait for goes on', async () => {
  const image = await registry.image('shared');
  const engine = await welcome();
  registry.door.hold();
  const [one, two] = [new AbortController(), new AbortController()];
  const pulls = [one, two].map(({ signal }) => errorOf(engine.pull(image, () => {}, signal)));
  await eventually(() => registry.door.blobs.length > 0);
  one.abort();
  expect(await pulls[0]).toMatchObject({
    kind: 'temporary',
    message: expect.stringContaining('no longer wanted'),
  });
  expect(registry.door.blobs.some(({ left }) => left)).toBe(false);
  two.abort();
  await eventually(() => registry.door.blobs.some(({ left }) => left));
  expect(await registry.has(image)).toBe(false);
});

test('P44: two who want the same image pull it once', async () => {
  const image = await registry.image('once');
  const engine = await welcome();
  await Promise.all([1, 2].map(() => engine.pull(image, () => {}, nobody)));
  const layers = registry.door.blobs.map(({ path }) => path);
  expect(layers.length).toBeGreaterThan(0);
  expect(new Set(layers).size).toBe(layers.length);
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
  await engine.pull(image, () => {}, nobody);
  expect(await registry.has(image)).toBe(true);
});

test('P45: a helper that fails is named where the registry refuses the pull', async () => {
  const image = await registry.image('unhelped');
  const engine = await engineWith({ credsStore: 'absent' });
  const error = await errorOf(engine.pull(image, () => {}, nobody));
  expect(error).toMatchObject({
    kind: 'permanent',
    message: expect.stringMatching(/no basic auth credentials \(docker-credential-absent .*ENOENT/),
  });
});
