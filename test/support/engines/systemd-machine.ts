/**
 * A machine with a real systemd, as a container of the programs of this machine, without a network. Its /usr
 * is that of this machine, read-only; everything else is its own.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { installPackage } from '../../../agent/local/debian.ts';
import { eventually } from '../tools/eventually.ts';
import { scratchFolder } from '../tools/folder.ts';
import { importTar } from './node-base.ts';
import { type Ended, outcomeIn } from './run-in-container.ts';

const SYSTEMD = '/usr/lib/systemd/systemd';
/** The hierarchy of systemd with version 1 of control groups. */
const LEGACY_HIERARCHY = '/sys/fs/cgroup/systemd';
/** What would act on the kernel, which the machine shares with this one. */
const MASKED = [
  ...['systemd-sysctl.service', 'systemd-modules-load.service', 'systemd-remount-fs.service'],
  ...['systemd-update-utmp.service', 'systemd-tmpfiles-setup-dev.service', 'systemd-journald-audit.socket'],
  ...['dev-hugepages.mount', 'dev-mqueue.mount', 'sys-fs-fuse-connections.mount'],
  ...['sys-kernel-debug.mount', 'sys-kernel-tracing.mount'],
];

/** dockerode does not name it. */
const PRIVATE_CGROUPS = { CgroupnsMode: 'private' };

export class SystemdMachine {
  readonly #docker: Docker;
  readonly #container: Docker.Container;
  readonly #image: string;

  private constructor(docker: Docker, container: Docker.Container, image: string) {
    this.#docker = docker;
    this.#container = container;
    this.#image = image;
  }

  /** `folders`: of this machine, by their paths there; read-only. */
  static async start(docker: Docker, folders: Readonly<Record<string, string>>): Promise<SystemdMachine> {
    if (!existsSync(SYSTEMD)) await installPackage('systemd');
    const image = `berth-systemd-test:${process.pid}`;
    await importRoot(docker, image);
    const isLegacy = existsSync(LEGACY_HIERARCHY);
    const container: Docker.Container = await docker.createContainer({
      Image: image,
      Entrypoint: [SYSTEMD],
      Cmd: ['--show-status=0', '--unit=basic.target'],
      Env: ['container=docker', 'PATH=/usr/sbin:/usr/bin', 'SYSTEMD_COLORS=0', 'SYSTEMD_PAGER=cat'],
      HostConfig: {
        NetworkMode: 'none',
        ...PRIVATE_CGROUPS,
        // With version 2 only a privileged container can write to its own control group.
        Privileged: !isLegacy,
        ...(isLegacy && { CapAdd: ['ALL'], CapDrop: ['SYS_RESOURCE'] }),
        SecurityOpt: ['seccomp=unconfined', 'apparmor=unconfined'],
        // Programs are large, and files in memory fast.
        Tmpfs: { '/run': 'exec', '/tmp': '', '/opt': 'exec' },
        Binds: [
          '/usr:/usr:ro',
          ...(isLegacy ? [`${LEGACY_HIERARCHY}:${LEGACY_HIERARCHY}`] : []),
          ...Object.entries(folders).map(([path, folder]) => `${folder}:${path}:ro`),
        ],
      },
    });
    const machine = new SystemdMachine(docker, container, image);
    await container.start();
    await eventually(async () => (await machine.run('systemctl', 'is-active', 'basic.target')).code === 0);
    return machine;
  }

  /** Runs a program as root. `NAME=value` before it sets variables. */
  run(...words: string[]): Promise<Ended> {
    return outcomeIn(this.#container, 'env', ...words);
  }

  async succeed(...words: string[]): Promise<string> {
    const { code, output } = await this.run(...words);
    if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}: ${output}`);
    return output;
  }

  async remove(): Promise<void> {
    await this.#container.remove({ force: true, v: true });
    await this.#docker.getImage(this.#image).remove();
  }
}

/** An image with no more than a machine must have besides /usr. */
async function importRoot(docker: Docker, image: string): Promise<void> {
  const folder = await scratchFolder('berth-systemd-');
  try {
    const root = join(folder, 'root');
    const units = 'etc/systemd/system';
    for (const path of [
      'usr',
      'var/lib',
      'var/cache',
      'var/log',
      'run',
      'tmp',
      'proc',
      'sys',
      'dev',
      'root',
      units,
    ])
      await mkdir(join(root, path), { recursive: true });
    for (const name of ['bin', 'sbin', 'lib', 'lib64']) await symlink(`usr/${name}`, join(root, name));
    for (const name of ['nsswitch.conf', 'ld.so.cache', 'login.defs'])
      await copyFile(join('/etc', name), join(root, 'etc', name));
    for (const name of MASKED) await symlink('/dev/null', join(root, units, name));
    await writeFile(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
    await writeFile(join(root, 'etc/group'), 'root:x:0:\n');
    await writeFile(join(root, 'etc/shadow'), 'root:*:20000::::::\n', { mode: 0o600 });
    await writeFile(join(root, 'etc/machine-id'), '');
    const tar = join(folder, 'root.tar');
    execFileSync('tar', ['-cf', tar, '--owner=0', '--group=0', '-C', root, '.']);
    await importTar(docker, tar, image);
  } finally {
    await rm(folder, { recursive: true });
  }
}
