/** What a container holds on the disk, as the agent measures it at a real engine, and how it is ended. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { IMAGE } from '../../../examples/image.ts';
import { dockerRig } from '../../support/engines/docker-rig.ts';
import { underUnit, withoutCapability } from '../../support/engines/unit-sandbox.ts';
import { eventually } from '../../support/tools/eventually.ts';

const { docker, deployment, engine, run } = dockerRig('disk-use');

const MIB = 2 ** 20;
const LIMIT_MS = 60_000;
const write = (path: string, count: number) => `dd if=/dev/zero of=${path} bs=1M count=${count}`;
const wait = 'echo ready; exec sleep 1000';

const shell = (...commands: string[]) => ({ command: ['sh', '-c', [...commands, wait].join('; ')] });

/** Waits until the container holds at least as much. */
const useOf = (id: string, bytes: number) =>
  eventually(async () => {
    const use = await engine().diskUse(id, LIMIT_MS);
    if (!use || use.bytes < bytes) throw new Error(`holds ${use?.bytes}`);
    return use;
  });

test('P147: the blocks of its files count, and neither holes nor further links do', async () => {
  const { id } = await run(
    shell(write('/a', 20), 'ln /a /b', 'dd if=/dev/zero of=/hole bs=1 count=1 seek=1G', write('/tmp/c', 10)),
  );
  const { bytes, files, isComplete } = await useOf(id, 30 * MIB);
  expect(bytes).toBeLessThan(32 * MIB);
  expect(files).toBeGreaterThan(3);
  expect(isComplete).toBe(true);
});

test('P147: anonymous volumes and removed files that are still open count', async () => {
  const name = `berth/${deployment}-volume`;
  const container = await docker.createContainer({ Image: IMAGE, Cmd: ['true'] });
  await container.commit({ repo: name, tag: '1', changes: 'VOLUME /data' });
  await container.remove();
  const { id } = await run({
    image: `${name}:1`,
    ...shell(write('/data/a', 20), 'exec 3>/removed', 'rm /removed', `${write('/dev/fd/3', 15)}`),
  });
  const { bytes } = await useOf(id, 35 * MIB);
  expect(bytes).toBeLessThan(37 * MIB);
  await engine().remove(id);
  await docker.getImage(`${name}:1`).remove();
});

test('P145: a container that ignores SIGTERM is killed at once, and again without effect', async () => {
  const { id } = await run({ command: ['sh', '-c', 'trap : TERM; while :; do sleep 1; done'] });
  await engine().kill(id);
  await eventually(async () => (await engine().inspect(id))?.state === 'exited');
  await engine().kill(id);
  await engine().remove(id);
  await engine().kill(id);
  expect(await engine().diskUse(id, LIMIT_MS)).toBeUndefined();
});

test('P145: under the restrictions of its unit the agent kills the processes of any user in a container', async () => {
  const { id } = await run({ user: '1000:1000', ...shell() });
  const container = docker.getContainer(id);
  const other = await container.exec({ Cmd: ['sleep', '1000'], User: '0:0' });
  await other.start({ Detach: true });
  await eventually(async () => (await container.top()).Processes.flat().includes('root'));
  const [program, script] = ['engine/processes/container-processes.ts', 'install/install.sh'].map((path) =>
    join(import.meta.dirname, '../../../agent', path),
  );
  const kill = `import('${program}').then(async (module) => console.log(await module.killProcesses('${id}')))`;
  const killUnder = async (unit: string): Promise<string> => {
    const [file = '', ...args] = underUnit(unit, [process.execPath, '-e', kill]);
    return (await promisify(execFile)(file, args)).stdout.trim();
  };
  const unit = await readFile(String(script), 'utf8');
  // It may kill that of its own user.
  expect(await killUnder(withoutCapability(unit, 'CAP_KILL'))).toBe('false');
  expect(await engine().inspect(id)).toMatchObject({ state: 'running' });
  expect(await killUnder(unit)).toBe('true');
  await eventually(async () => (await engine().inspect(id))?.state === 'exited');
});
