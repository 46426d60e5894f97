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

test('waitFor returns the match of a later line', async () => {
  const program = shell('echo first; sleep 0.1; echo "port 4711"; sleep 60');
  expect((await program.waitFor(/port (\d+)/))[1]).toBe('4711');
  await program.kill();
});

test('waitFor fails with the output if the program ends first', async () => {
  const program = shell('echo broken >&2; exit 3');
  await expect(program.waitFor(/ready/)).rejects.toThrow(/ended \(3\) without printing(?:.|\n)*broken/);
});

test('waitFor fails with the reason if the program cannot be started', async () => {
  await expect(startCommand(['/nowhere/at/all']).waitFor(/ready/)).rejects.toThrow(/ENOENT/);
});

test('stop sends SIGTERM and returns the exit code', async () => {
  const program = shell('trap "exit 7" TERM; echo ready; while :; do sleep 0.05; done');
  await program.waitFor(/ready/);
  expect(await program.stop()).toBe(7);
});

test('stop fails if the program does not end in time', async () => {
  const program = shell('trap "" TERM; echo ready; while :; do sleep 0.05; done');
  await program.waitFor(/ready/);
  await expect(program.stop(200)).rejects.toThrow(/did not end within 200 ms/);
  await program.kill();
});

test('kill ends the program by SIGKILL', async () => {
  const program = shell('trap "" TERM; echo ready; while :; do sleep 0.05; done');
  await program.waitFor(/ready/);
  await program.kill();
  expect(program.ended).toBe('SIGKILL');
});

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
