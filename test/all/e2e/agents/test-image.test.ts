import type Docker from 'dockerode';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { ensureImage, IMAGE } from '../../../../examples/image.ts';
import { testEngine } from '../../../support/engines/engine.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const run = `image-test-${process.pid}`;
let docker: Docker;
let network: Docker.Network;
const containers: Docker.Container[] = [];

beforeAll(async () => {
  docker = await testEngine();
  network = await docker.createNetwork({ Name: run });
});

afterEach(async () => {
  for (const container of containers.splice(0)) await container.remove({ force: true });
});

afterAll(() => network.remove());

async function start(
  name: string,
  script: string,
  options: Docker.ContainerCreateOptions = {},
): Promise<Docker.Container> {
  const container = await docker.createContainer({
    name: `${run}-${name}`,
    Image: IMAGE,
    Cmd: ['sh', '-c', script],
    Tty: true,
    HostConfig: { NetworkMode: run },
    ...options,
  });
  containers.push(container);
  await container.start();
  return container;
}

const output = async (container: Docker.Container): Promise<string> =>
  (await container.logs({ stdout: true, stderr: true })).toString().replaceAll('\r\n', '\n');

/** What a script prints until it has ended with 0. */
async function printed(script: string, options?: Docker.ContainerCreateOptions): Promise<string> {
  const container = await start('client', script, options);
  const { StatusCode } = await container.wait();
  const text = await output(container);
  if (StatusCode !== 0) throw new Error(`the script ended with ${StatusCode}:\n${text}`);
  return text;
}

/** A container that serves `hello` by HTTP on port 80, under its own name. */
async function serve(): Promise<string> {
  const script = 'mkdir /www && echo hello > /www/index.html && echo ready && exec httpd -f -p 80 -h /www';
  const server = await start('server', script);
  await eventually(async () => (await output(server)).includes('ready'));
  return `${run}-server`;
}

test.each([
  ['nslookup', (name: string) => `nslookup ${name}`, /Address:\s+\d+\./],
  ['ping', (name: string) => `ping -c 1 -W 5 ${name}`, /1 packets received/],
  ['wget', (name: string) => `wget -qO - http://${name}/`, /^hello$/m],
  ['nc', (name: string) => `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 5 ${name} 80`, /^hello$/m],
])(
  'the program %s in one container reaches another container by its DNS name',
  async (_, script, expected) => {
    const name = await serve();
    // The server may need a moment before it listens.
    const retried = `for i in 1 2 3 4 5; do ${script(name)} && exit; sleep 0.2; done; exit 1`;
    expect(await printed(retried)).toMatch(expected);
  },
);

test('an unknown DNS name is an ordinary error', async () => {
  expect(await printed('wget -qO - http://no-such-service/ || echo code $?')).toMatch(
    /bad address(?:.|\n)*code 1\n/,
  );
});

test('/tmp is open to every user', async () => {
  expect(await printed('touch /tmp/mine && stat -c "%a %U" /tmp', { User: 'nobody' })).toBe('1777 root\n');
});

test('the users root and nobody have names', async () => {
  expect(await printed('id; su nobody -c id')).toBe(
    'uid=0(root) gid=0(root) groups=0(root)\nuid=65534(nobody) gid=65534(nogroup) groups=65534(nogroup)\n',
  );
});

test('programs are found under the paths that scripts usually name', async () => {
  expect(
    await printed('/usr/bin/env echo found; /sbin/ip -V >/dev/null 2>&1; test -x /usr/sbin/chroot'),
  ).toBe('found\n');
});

test('the image is small, and an existing image is left as it is', async () => {
  const before = await docker.getImage(IMAGE).inspect();
  await ensureImage(docker, IMAGE, (line) => expect.unreachable(line));
  const after = await docker.getImage(IMAGE).inspect();
  expect(after.Id).toBe(before.Id);
  expect(after.Size).toBeLessThan(4 * 2 ** 20);
});

test('the image is built if the engine has none of that name', async () => {
  const name = `${run}:made`;
  expect(await ensureImage(docker, name, () => {})).toBe(name);
  expect((await docker.getImage(name).inspect()).RepoTags).toContain(name);
  await docker.getImage(name).remove();
});
