/** The small image of examples and tests: what applications in it count on, and when it is built. */
import { expect, test } from 'vitest';
import { ensureImage, IMAGE } from '../../../../examples/image.ts';
import { testEngine } from '../../../support/engines/engine.ts';

/** What a shell in a new container prints until it has ended with 0. */
async function printed(script: string): Promise<string> {
  const docker = await testEngine();
  const options = { Image: IMAGE, Cmd: ['sh', '-c', script], Tty: true };
  const container = await docker.createContainer({ ...options, HostConfig: { NetworkMode: 'none' } });
  try {
    await container.start();
    const { StatusCode } = await container.wait();
    const text = (await container.logs({ stdout: true, stderr: true })).toString().replaceAll('\r\n', '\n');
    if (StatusCode !== 0) throw new Error(`the script ended with ${StatusCode}:\n${text}`);
    return text;
  } finally {
    await container.remove({ force: true });
  }
}

test('/tmp is open to every user, root and nobody have names, and programs have their usual paths', async () => {
  const script =
    'id; su nobody -c "id; touch /tmp/mine"; stat -c "%a %U" /tmp; ' +
    '/usr/bin/env echo found; /sbin/ip -V >/dev/null 2>&1; test -x /usr/sbin/chroot';
  expect(await printed(script)).toBe(
    'uid=0(root) gid=0(root) groups=0(root)\n' +
      'uid=65534(nobody) gid=65534(nogroup) groups=65534(nogroup)\n1777 root\nfound\n',
  );
});

test('the image is small, and an existing image is left as it is', async () => {
  const docker = await testEngine();
  const before = await docker.getImage(IMAGE).inspect();
  await ensureImage(docker, IMAGE, (line) => expect.unreachable(line));
  const after = await docker.getImage(IMAGE).inspect();
  expect(after.Id).toBe(before.Id);
  expect(after.Size).toBeLessThan(4 * 2 ** 20);
});

test('the image is built if the engine has none of that name', async () => {
  const docker = await testEngine();
  const name = `image-test-${process.pid}:made`;
  expect(await ensureImage(docker, name, () => {})).toBe(name);
  expect((await docker.getImage(name).inspect()).RepoTags).toContain(name);
  await docker.getImage(name).remove();
});
