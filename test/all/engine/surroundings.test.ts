/** The surroundings of containers on a real Docker engine: mounts, capabilities, ports, images. */
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { describe, expect, onTestFinished, test } from 'vitest';
import { IMAGE } from '../../../examples/image.ts';
import { CPU_LIMIT, dockerRig } from '../../support/engines/docker-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

const { docker, deployment, engine, scratch, makeEngine, run, exitOf } = dockerRig('around');

test('P111: a volume below an allowed root is mounted, read-only on request, and so is the workspace of the owner', async () => {
  await mkdir(`${scratch()}/alice`);
  await writeFile(`${scratch()}/file`, 'data');
  const on = makeEngine({ volumeRoots: [scratch()], workspaceRoot: scratch() });
  const volumes = [{ name: 'in', path: scratch(), readOnly: true }];
  const script = 'test "$(cat /mnt/in/file)" = data && ! touch /mnt/in/new && touch /workspace/new';
  const { id } = await run({ volumes, command: ['sh', '-c', script] }, on);
  expect(await exitOf(id)).toMatchObject({ exitCode: 0 });
});

describe('capabilities', () => {
  /** The bounding set of the container's processes, by which alone a program can gain a capability. */
  const boundingSet = async (on = makeEngine(), service = 1): Promise<bigint> => {
    const { id } = await run({ service }, on);
    const { State } = await docker.getContainer(id).inspect();
    const status = await readFile(`/proc/${State.Pid}/status`, 'utf8');
    return BigInt(`0x${/^CapBnd:\s+(\w+)$/m.exec(status)?.[1]}`);
  };
  /** The usual ones, by the numbers of the kernel's header capability.h. */
  const USUAL = 0x5fbn;
  const WITHHELD = { NET_RAW: 13n, SYS_CHROOT: 18n, MKNOD: 27n, AUDIT_WRITE: 29n, SETFCAP: 31n };

  test('P107: a container can gain none of the capabilities that ordinary images do without, but those that the settings add', async () => {
    const set = await boundingSet();
    expect(set).toBe(USUAL);
    for (const bit of Object.values(WITHHELD)) expect((set >> bit) & 1n).toBe(0n);
    const more = await boundingSet(makeEngine({ capabilities: ['NET_RAW'] }), 2);
    expect(more).toBe(USUAL | (1n << WITHHELD.NET_RAW));
  });
  test('P107: a container as root changes owners, drops its privileges and serves a port below 1024', async () => {
    const script =
      'touch /f; chown nobody /f; su nobody -c "id -u" | grep 65534; httpd -p 80; nc -w 1 127.0.0.1 80 </dev/null';
    const { id } = await run({ command: ['sh', '-ec', script] });
    expect(await exitOf(id)).toMatchObject({ exitCode: 0 });
  });
});

describe('files in /etc', () => {
  const FILES = ['hosts', 'hostname', 'resolv.conf'];
  /** Tries to change each file, and then runs until it is removed. */
  const change = (how: string) => ({
    command: ['sh', '-c', `cd /etc; for file in ${FILES.join(' ')}; do ${how}; done; echo done; sleep 1000`],
  });
  /** The lengths of the engine's own files, once the container has tried. */
  async function lengthsOf(id: string): Promise<number[]> {
    const container = docker.getContainer(id);
    await eventually(async () => String(await container.logs({ stdout: true })).includes('done'));
    const { HostsPath, HostnamePath, ResolvConfPath } = await container.inspect();
    const files = await Promise.all([HostsPath, HostnamePath, ResolvConfPath].map((path) => stat(path)));
    return files.map(({ size }) => size);
  }

  test('P155: a container cannot write to the files in its /etc that the engine reads, nor replace or remount them', async () => {
    const attempts = [
      'truncate -s 200M $file',
      'dd if=/dev/zero of=$file bs=1M count=20',
      'rm -f $file',
      'mv $file other',
      'umount /etc/$file',
      'mount -o remount,rw /etc/$file',
      'echo again >> $file',
    ];
    const { id } = await run(change(attempts.join('; ')));
    for (const length of await lengthsOf(id)) expect(length).toBeLessThan(4096);
  });

  test('P155: what the engine protects by default stays protected', async () => {
    const hostConfigOf = async (etcFiles: 'read-only' | 'writable') => {
      const { id } = await run({}, makeEngine({ etcFiles }));
      const { HostConfig } = await docker.getContainer(id).inspect();
      await engine().remove(id);
      return HostConfig;
    };
    const usual = await hostConfigOf('writable');
    const { MaskedPaths, ReadonlyPaths } = await hostConfigOf('read-only');
    expect(usual.ReadonlyPaths).toContain('/proc/sys');
    expect(ReadonlyPaths).toEqual(expect.arrayContaining(usual.ReadonlyPaths ?? []));
    expect(MaskedPaths).toEqual(usual.MaskedPaths);
  });
});

describe('ports', () => {
  test('P106: a port that is published on one address of the host is not reachable by its others', async () => {
    const command = ['sh', '-c', 'echo hello > /tmp/index.html; httpd -f -p 80 -h /tmp'];
    const on = makeEngine({ bind: '127.0.0.1' });
    const container = await run({ command, ports: [{ port: 80, protocol: 'tcp' }] }, on);
    if (container.state !== 'running') throw new Error(`it is ${container.state}`);
    const at = (host: string) => `http://${host}:${container.ports[0]?.hostPort}/`;
    expect(await eventually(async () => (await fetch(at('127.0.0.1'))).text())).toBe('hello\n');
    const others = Object.values(networkInterfaces()).flatMap((all = []) =>
      all.filter(({ internal, scopeid }) => !internal && !scopeid),
    );
    const hosts = others.map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address));
    expect(hosts.length).toBeGreaterThan(0);
    for (const host of ['127.0.0.2', ...hosts])
      await expect(fetch(at(host)), host).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
  });
  /** The numbers of a container's ports over each family. */
  const numbersOf = async (id: string): Promise<string[][]> => {
    const { NetworkSettings } = await docker.getContainer(id).inspect();
    return Object.values(NetworkSettings.Ports).map((all) => all?.map(({ HostPort }) => HostPort) ?? []);
  };
  test('P303: a port has the same number over IPv4 and IPv6, whatever else listens on the host', async () => {
    const ports = [
      { port: 80, protocol: 'tcp' as const },
      { port: 53, protocol: 'tcp' as const },
      { port: 53, protocol: 'udp' as const },
    ];
    const HostConfig = {
      PublishAllPorts: false,
      PortBindings: { '9/tcp': [{ HostIp: '0.0.0.0', HostPort: '' }] },
    };
    const options = { Image: IMAGE, Cmd: ['sleep', '600'], ExposedPorts: { '9/tcp': {} }, HostConfig };
    const other = await docker.createContainer(options);
    onTestFinished(() => other.remove({ force: true }));
    await other.start();
    for (const service of [1, 2, 3]) {
      const container = await run({ service, ports });
      if (container.state !== 'running') throw new Error(`it is ${container.state}`);
      expect(container.ports).toHaveLength(3);
      for (const numbers of await numbersOf(container.id)) expect(new Set(numbers).size).toBe(1);
    }
  });
});

describe('what an image says', () => {
  /** A new image with this line of a Dockerfile. */
  async function imageWith(changes: string): Promise<string> {
    const image = `berth/${deployment}-image:1`;
    const [repo = '', tag = ''] = image.split(':');
    const container = await docker.createContainer({ Image: IMAGE, Cmd: ['true'] });
    await container.commit({ repo, tag, changes });
    await container.remove();
    onTestFinished(async () => {
      for (const { id } of await engine().list()) await engine().remove(id);
      await docker.getImage(image).remove();
    });
    return image;
  }

  test("P151: labels and the health check of an image change neither its container's networks, maximum of cores, nor what the agent removes, and the engine runs no check", async () => {
    const network = await docker.createNetwork({ Name: `other-${deployment}` });
    onTestFinished(() => network.remove());
    const labels = `LABEL berth.overlay=other-${deployment} berth.cores.max=none berth.folders=node1`;
    const image = await imageWith(`${labels}\nHEALTHCHECK --interval=1ms CMD true`);
    const { id } = await run({ image, coresMax: null });
    const inspected = () => docker.getContainer(id).inspect();
    const before = await inspected();
    await engine().removeUnused(0);
    expect(await engine().inspect(id)).toMatchObject({
      state: 'running',
      cpu: { max: null, limit: CPU_LIMIT },
    });
    const { Config, NetworkSettings, State } = await inspected();
    expect(Object.keys(NetworkSettings.Networks)).toEqual(Object.keys(before.NetworkSettings.Networks));
    expect(Object.keys(NetworkSettings.Networks)).not.toContain(`other-${deployment}`);
    expect(Config.Healthcheck).toMatchObject({ Test: ['NONE'] });
    expect(State.Health).toBeUndefined();
  });
});
