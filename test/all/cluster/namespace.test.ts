/** Namespaces of test/support/cluster: cleaning up after their test run is killed. */
import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { folderOf, newName, removeAll, removeLeftovers } from '../../support/cluster/leftovers.ts';
import { startCommand } from '../../support/hosts/process.ts';
import { eventually } from '../../support/tools/eventually.ts';

const SUPPORT = resolve(import.meta.dirname, '../../support/cluster');

/** Makes a namespace with a process inside and a folder beside it, prints both, and waits. */
const RUN = `
  import { spawn } from 'node:child_process';
  import { folderOf, newName } from '${SUPPORT}/leftovers.ts';
  import { Namespace } from '${SUPPORT}/namespace.ts';
  const machine = await Namespace.make();
  const [file, ...args] = [...machine.inside, 'sleep', '1000'];
  spawn(file, args, { detached: true, stdio: 'ignore' });
  console.log('made', machine.pid, folderOf(await newName()));
  setInterval(() => {}, 1000);`;

test('the namespaces of a killed test run end with it, and the next run removes its files', async () => {
  const killed = startCommand([process.execPath, '--input-type=module', '--eval', RUN]);
  const [, pid = '', folder = ''] = await killed.waitFor(/made (\d+) (\S+)/);
  const inside = () => readdir(`/proc/${pid}/task`).catch(() => []);
  expect(await inside()).toEqual([pid]);
  await killed.kill();
  await eventually(async () => (await inside()).length === 0);
  expect(existsSync(folder)).toBe(true);
  await removeLeftovers();
  expect(existsSync(folder)).toBe(false);
});

test('files of a test run that continues are not removed', async () => {
  const name = await newName();
  await mkdir(join(folderOf(name), 'data'));
  await removeLeftovers();
  expect(existsSync(join(folderOf(name), 'data'))).toBe(true);
  await removeAll(name);
  expect(existsSync(folderOf(name))).toBe(false);
});
