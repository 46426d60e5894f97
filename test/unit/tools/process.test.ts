import { expect, test } from 'vitest';
import { livingGroups, startCommand } from '../../support/hosts/process.ts';
import { eventually } from '../../support/tools/eventually.ts';

const shell = (script: string) => startCommand(['sh', '-c', script]);

const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test('a program that has ended is not killed in the end, since its id may be that of another one', async () => {
  const ended = shell('exit 0');
  await ended.waitForEnd();
  const outlived = shell('sleep 60 & echo ready');
  await outlived.waitFor(/ready/);
  await outlived.waitForEnd();
  const groups = livingGroups();
  expect([groups.includes(ended.pid), groups.includes(outlived.pid)]).toEqual([false, true]);
  process.kill(-outlived.pid, 'SIGKILL');
  await eventually(() => !livingGroups().includes(outlived.pid));
});

test.each(['process.exit()', 'process.kill(process.pid, "SIGTERM")'])(
  'a program and its children end with the process that started it: %s',
  async (end) => {
    const module = `${import.meta.dirname}/../../support/hosts/process.ts`;
    const script = `
      const { startCommand } = await import(${JSON.stringify(module)});
      const program = startCommand(['sh', '-c', 'sleep 60 & echo $$ $!; wait']);
      console.log('pids', (await program.waitFor(/\\d+ \\d+/))[0]);
      ${end};`;
    const parent = startCommand([process.execPath, '--input-type=module', '--eval', script]);
    const [, shellPid, sleepPid] = await parent.waitFor(/pids (\d+) (\d+)/);
    await parent.waitForEnd();
    await eventually(() => !runs(Number(shellPid)) && !runs(Number(sleepPid)));
  },
);
