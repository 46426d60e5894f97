/** Copies into containers and out of them on a real Docker engine, and what they must not reach. */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { containerTargets } from '../../../agent/engine/streams/container-targets.ts';
import type { Target } from '../../../agent/engine/streams/target.ts';
import { refuseEntry, TreeReader } from '../../../shared/archives/tar-tree.ts';
import { endOfTar, headerOf, paddingOf } from '../../../shared/archives/tar-writer.ts';
import type { StreamTarget } from '../../../shared/streams/targets.ts';
import { dockerRig } from '../../support/engines/docker-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

const { docker, deployment, assignment, run } = dockerRig('copies');

const connect = containerTargets(docker, { deployment, host: 'node1', local: true, secretsDir: null });

interface Place {
  id: string;
  ipAddress: string;
}

const service = async (script = 'true'): Promise<Place> => {
  const container = await run({ command: ['sh', '-c', `${script}; touch /tmp/ready; sleep 600`] });
  if (container.state !== 'running') throw new Error(container.state);
  await eventually(async () => expect(await sh(container, 'ls /tmp/ready')).toBe('/tmp/ready'));
  return container;
};

/** The output of a script in the container. */
async function sh(place: Place, script: string): Promise<string> {
  const target = await connect(place, { kind: 'exec', words: ['sh', '-c', script] });
  target.end();
  return (await bytesOf(target)).toString().trim();
}

async function bytesOf(target: Target): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const { bytes } of target.output) parts.push(bytes);
  await target.exitCode();
  return Buffer.concat(parts);
}

const out = async (place: Place, path: string, form: 'tar' | 'file' = 'tar'): Promise<Buffer> => {
  const target = await connect(place, { kind: 'files-out', path, form });
  try {
    return await bytesOf(target);
  } finally {
    target.destroy();
  }
};

/** Paths beneath the root, with the content of files and the targets of links. */
function treeOf(tar: Buffer): Record<string, string> {
  const found: Record<string, string> = {};
  let last = '';
  const reader = new TreeReader(refuseEntry);
  for (const one of reader.push(tar))
    if (one instanceof Uint8Array) found[last] += Buffer.from(one).toString();
    else {
      last = `/${one.names.join('/')}`;
      found[last] = one.kind === 'link' ? `-> ${one.target}` : one.mode.toString(8).padEnd(5);
    }
  reader.end();
  return found;
}

const entry = (path: string, content?: string, mode = 0o644): Uint8Array[] => {
  const bytes = Buffer.from(content ?? '');
  const kind = content === undefined ? 'folder' : 'file';
  const header = { kind, path, mode, modified: 1_000, size: bytes.length, target: '' } as const;
  return [headerOf(header), bytes, paddingOf(bytes.length)];
};
const link = (path: string, target: string): Uint8Array[] => [
  headerOf({ kind: 'link', path, mode: 0o777, modified: 1_000, size: 0, target }),
];
const tar = (...parts: Uint8Array[][]): Buffer => Buffer.concat([...parts.flat(), endOfTar()]);

type In = Omit<Extract<StreamTarget, { kind: 'files-in' }>, 'kind'>;

/** Writes `bytes`, and ends unless told otherwise. Rejects with the reason of a copy that fails. */
async function into(place: Place, request: In, bytes: Uint8Array): Promise<void> {
  const target = await connect(place, { kind: 'files-in', ...request });
  try {
    const done = bytesOf(target);
    done.catch(() => {});
    for (let at = 0; at < bytes.length; at += 65_536) await target.write(bytes.subarray(at, at + 65_536));
    target.end();
    await done;
  } finally {
    target.destroy();
  }
}

describe('a copy', () => {
  test('P265: a folder comes out with its links, a link of the path is followed, and a file comes as it is', async () => {
    const place = await service(
      'mkdir -p /srv/d/sub && echo one > /srv/d/f && chmod 640 /srv/d/f && ln -s ../f /srv/d/sub/l && mkfifo /srv/d/pipe && ln -s d /srv/to-folder && ln -s ./to-folder/f /srv/to-file',
    );
    const whole = { '/': '755  ', '/f': '640  one\n', '/sub': '755  ', '/sub/l': '-> ../f' };
    for (const path of ['/srv/to-folder', '/srv/d/sub/..'])
      expect(treeOf(await out(place, path))).toEqual(whole);
    for (const path of ['/srv/to-file', '/srv/d/sub/l'])
      expect((await out(place, path, 'file')).toString()).toBe('one\n');
    await expect(out(place, '/srv/none')).rejects.toThrow('none: no such file or folder');
    await expect(out(place, '/none/f')).rejects.toThrow('no such folder');
    await expect(out(place, '/srv/d', 'file')).rejects.toThrow('is a folder');
    await expect(out(place, '/srv/d/pipe', 'file')).rejects.toThrow('no file and no folder');
  });
  test('P272: a copy in an image without a shell states what copies require', async () => {
    const place = await service();
    const request = { path: '/tmp', name: 'f', bytes: 3 };
    await sh(place, 'rm /bin/sh');
    for (const copy of [() => out(place, '/tmp/ready'), () => into(place, request, Buffer.from('one'))])
      await expect(copy()).rejects.toThrow('the image has no shell, or no program that copies require');
  });
  test('P266: files go into a folder or to a new path, and replace a file but never a folder', async () => {
    const place = await service('mkdir -p /srv/d');
    const folder = tar(
      entry('any'),
      entry('any/f', 'one', 0o4755),
      entry('any/sub'),
      link('any/sub/l', '../f'),
    );
    await into(place, { path: '/srv/d', name: 'copy' }, folder);
    await into(place, { path: '/srv/new', name: 'copy' }, folder);
    await into(place, { path: '/srv/d/file', name: 'any' }, tar(entry('y', 'first')));
    await into(place, { path: '/srv/d', name: 'file', bytes: 6 }, Buffer.from('second'));
    const listing = await sh(
      place,
      'cd /srv; cat d/copy/sub/l d/file; echo; stat -c %a,%u d/copy/f new/f; ls -A . d',
    );
    expect(listing.split('\n')).toEqual([
      'onesecond',
      '755,0',
      '755,0',
      '.:',
      'd',
      'new',
      '',
      'd:',
      'copy',
      'file',
    ]);
    await expect(into(place, { path: '/srv/d', name: 'copy' }, folder)).rejects.toThrow(
      'is a folder that exists',
    );
    await expect(into(place, { path: '/none/x', name: 'y' }, folder)).rejects.toThrow(
      '/none/: no such folder',
    );
  });
  test('P266: a copy that breaks off or holds what leads out leaves nothing', async () => {
    const place = await service('mkdir -p /srv/d');
    const request = { path: '/srv/d', name: 'copy' };
    const good = [entry('c'), entry('c/f', 'one')];
    const bad: [In, Uint8Array, string][] = [
      [request, tar(...good).subarray(0, 1_536), 'ends early'],
      [request, tar(...good).subarray(0, 1_100), 'ends early'],
      [request, tar(...good, entry('../up', 'x')), 'leads out'],
      [request, tar(...good, entry('other', 'x')), 'more than one'],
      [request, tar(...good, link('c/l', '/tmp'), entry('c/l/f', 'x')), 'leads out'],
      [request, tar(...good, link('c/l', '.'), link('c/l/m', '../..')), 'within a link'],
      [{ ...request, bytes: 5 }, Buffer.from('four'), 'ended 1 bytes early'],
      [{ ...request, bytes: 3 }, Buffer.from('four'), 'more than the 3 bytes'],
    ];
    for (const [wanted, bytes, reason] of bad)
      await expect(into(place, wanted, bytes), reason).rejects.toThrow(reason);
    await eventually(async () => expect(await sh(place, 'ls -A /srv/d')).toBe(''));
    const broken = await connect(place, { kind: 'files-in', ...request });
    bytesOf(broken).catch(() => {});
    await broken.write(tar(...good).subarray(0, 1_700));
    await eventually(async () => expect(await sh(place, 'ls -A /srv/d')).toMatch(/^\.berth-cp-/));
    broken.destroy();
    await eventually(async () => expect(await sh(place, 'ls -A /srv/d')).toBe(''));
  });
  test('P266: what does not fit is refused with the words of the container, and leaves nothing', async () => {
    const place = await service();
    const sizes = await sh(place, 'df -k /dev/shm | tail -n 1');
    expect(sizes).toContain('/dev/shm');
    const big = { path: '/dev/shm', name: 'big', bytes: 80_000_000 };
    await expect(into(place, big, Buffer.alloc(80_000_000))).rejects.toThrow('No space left');
    expect(await sh(place, 'ls -A /dev/shm')).toBe('');
  });
});

describe('where a folder of the host is mounted', () => {
  /** A container that runs as another user, and mounts a folder of the host with a secret of root's. */
  async function mounted<T>(script: string, use: (place: Place, folder: string) => Promise<T>): Promise<T> {
    const folder = await mkdtemp(join(tmpdir(), 'berth-copies-'));
    await chmod(folder, 0o777);
    await writeFile(join(folder, 'secret'), 'of root', { mode: 0o600 });
    await writeFile(join(folder, 'public'), 'of anybody', { mode: 0o644 });
    const { id } = await docker.createContainer({
      ...{ Image: assignment().image, User: '1234:1234', Cmd: ['sh', '-c', `${script}; sleep 600`] },
      Labels: { 'berth.deployment': deployment, 'berth.host': 'node1', 'berth.service': '9' },
      HostConfig: { Mounts: [{ Type: 'bind', Source: folder, Target: '/mnt/data' }] },
    });
    try {
      await docker.getContainer(id).start();
      return await use({ id, ipAddress: '' }, folder);
    } finally {
      await docker.getContainer(id).remove({ force: true, v: true });
      await rm(folder, { recursive: true });
    }
  }

  test('P270: no path leads into the mount, by whatever links, and none holds it', async () => {
    await mounted(
      'ln -s /mnt/data /tmp/l; ln -s l/public /tmp/f; touch /tmp/ready',
      async (place, folder) => {
        await eventually(async () => expect(await sh(place, 'ls /tmp/ready')).toBe('/tmp/ready'));
        const inside = ['/mnt/data', '/mnt/data/', '/mnt/data/public', '/tmp/l', '/tmp/l/secret', '/tmp/f'];
        for (const path of [...inside, '/mnt/../mnt/data/public'])
          await expect(out(place, path), path).rejects.toThrow('/mnt/data is a mount');
        for (const path of ['/', '/tmp/../mnt/.'])
          await expect(out(place, path), path).rejects.toThrow('is a mount, and copies never cross');
        for (const path of ['/tmp/l', '/tmp/l/new', '/mnt/data/public'])
          await expect(into(place, { path, name: 'x', bytes: 1 }, Buffer.from('x')), path).rejects.toThrow(
            '/mnt/data is a mount',
          );
        expect(await readFile(join(folder, 'public'), 'utf8')).toBe('of anybody');
        await into(place, { path: '/tmp/own', name: 'x', bytes: 1 }, Buffer.from('x'));
        expect((await out(place, '/tmp/own', 'file')).toString()).toBe('x');
      },
    );
  });
  test('P269: a container that exchanges a folder for a link all the time gives nothing but what its user may read', async () => {
    const race =
      'cd /tmp; mkdir -p real; echo own > real/secret; ln -s /mnt/data evil; while :; do mv -T real at; mv -T at real; mv -T evil at; mv -T at evil; done';
    await mounted(race, async (place, folder) => {
      for (let round = 0; round < 6; round += 1) {
        const text = await out(place, '/tmp/at/secret', 'file').then(String, String);
        expect(text).not.toContain('of root');
        await into(place, { path: '/tmp/at/in', name: 'x', bytes: 1 }, Buffer.from('x')).catch(() => {});
      }
      await expect(readFile(join(folder, 'in'))).rejects.toThrow('ENOENT');
    });
  });
});
