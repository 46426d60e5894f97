/** The machines that test/support/cluster makes of namespaces: what is left of them when their test run is killed. */
import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { folderOf, newName, removeAll, removeLeftovers } from '../../support/cluster/leftovers.ts';
import { startCommand } from '../../support/hosts/process.ts';
import { eventually } from '../../support/tools/eventually.ts';

const SUPPORT = resolve(import.meta.dirname, '../../support/cluster');

/** Makes a machine with a process inside and a folder beside it, says what they are, and waits. */
const RUN = `
  import { spawn } from 'node:child_process';
  import { folderOf, newName } from '${SUPPORT}/leftovers.ts';
  import { Namespace } from '${SUPPORT}/namespace.ts';
  const machine = await Namespace.make();
  const [file, ...args] = [...machine.inside, 'sleep', '1000'];
  spawn(file, args, { detached: true, stdio: 'ignore' });
  console.log('made', machine.pid, folderOf(await newName()));
  setInterval(() => {}, 1000);`;

test('a test run that is killed takes its machines along, and the next one removes its files', async () => {
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

test('what a run that goes on has made is left alone', async () => {
  const name = await newName();
  await mkdir(join(folderOf(name), 'data'));
  await removeLeftovers();
  expect(existsSync(join(folderOf(name), 'data'))).toBe(true);
  await removeAll(name);
  expect(existsSync(folderOf(name))).toBe(false);
});
