/** Which processes belong to a command in a container, and how they are ended. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  isAlive,
  killCommand,
  type Member,
  memberIn,
  membersAmong,
  signalProblem,
} from '../../../../../agent/engine/processes/command-processes.ts';
import {
  killProcess,
  killProcesses,
  processesOf,
} from '../../../../../agent/engine/processes/container-processes.ts';
import { deletedBytes } from '../../../../../agent/engine/processes/deleted-files.ts';

const container = { id: 'f'.repeat(64), pid: process.pid };
const member = (pid: number, parent: number, session: number): Member => ({ pid, parent, session, start: 0 });

test('P256, P212: the processes of a command are its session, its mark and all their children, and never the first of the container', () => {
  const [first, service] = [member(1, 0, 1), member(2, 1, 1)];
  const [leader, child] = [member(10, 0, 10), member(11, 10, 10)];
  const [setsid, under, orphan] = [member(12, 11, 12), member(13, 12, 12), member(14, 1, 10)];
  const [marked, ofMarked] = [member(15, 1, 15), member(16, 15, 15)];
  // Children may be listed before their parents.
  const all = [under, setsid, first, service, leader, child, orphan, ofMarked, marked];
  const pids = (members: readonly Member[]) => members.map(({ pid }) => pid).sort((a, b) => a - b);
  expect(pids(membersAmong(all, 1, 10))).toEqual([10, 11, 12, 13, 14]);
  expect(pids(membersAmong(all, 1, 10, [marked]))).toEqual([10, 11, 12, 13, 14, 15, 16]);
  expect(pids(membersAmong(all, 1, 99))).toEqual([]);
  expect(pids(membersAmong([first, service], 1, 2))).toEqual([2]);
  expect(pids(membersAmong([first, member(2, 1, 10)], 1, 10, [first]))).toEqual([2]);
});

test('P256: a process is read from the text of the kernel, whatever its program is called, until it has ended', () => {
  const stat = (state: string, flags: number) =>
    `7 (a) b) ${state} 3 7 5 0 -1 ${flags} ${Array.from({ length: 12 }, (_, at) => 100 + at).join(' ')} 999 0`;
  expect(memberIn(7, stat('S', 0))).toEqual({ pid: 7, parent: 3, session: 5, start: 999 });
  for (const text of ['', stat('Z', 0), stat('S', 4), stat('S', 6)])
    expect(memberIn(7, text)).toBeUndefined();
});

test('P212: a command is killed with what it starts meanwhile, for at most five rounds', async () => {
  for (const [rounds, refusals, outcome, kills] of [
    [[], [], false, []],
    [[[5]], [], true, [5]],
    [[[5, 6], [7]], [], true, [5, 6, 7]],
    [[[5, 6]], [6], false, [5, 6]],
    [Array.from({ length: 9 }, () => [5]), [], true, [5, 5, 5, 5, 5]],
  ] as const) {
    const killed: number[] = [];
    const left = rounds.map((pids) => pids.map((pid) => member(pid, 1, 5)));
    const done = await killCommand(container, 5, 'm', {
      members: async () => left.shift() ?? [],
      kill: (pid) => killed.push(pid) > 0 && !(refusals as readonly number[]).includes(pid),
    });
    expect([done, killed]).toEqual([outcome, kills]);
  }
  for (const leader of [0, -1])
    expect(
      await killCommand(container, leader, 'm', { members: async () => [member(1, 0, 0)], kill: () => true }),
    ).toBe(false);
});

test('P256: a process is killed once, and one that has ended counts as killed', async () => {
  const child = spawn('sleep', ['60']);
  const pid = child.pid ?? 0;
  expect(await isAlive({ ...container, pid })).toBe(true);
  expect(killProcess(pid)).toBe(true);
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  expect(await isAlive({ ...container, pid })).toBe(false);
  expect(killProcess(pid)).toBe(true);
});

test('P259: an agent that sees no process of a container neither runs commands in it nor ends any', async () => {
  expect(await processesOf(container)).toEqual([]);
  expect(await killProcesses(container.id)).toBe(false);
  expect(await signalProblem(container)).toContain("doesn't see the processes of its host");
  const folder = await mkdtemp(join(tmpdir(), 'berth-deleted-'));
  const file = await open(join(folder, 'gone'), 'w');
  await file.writeFile('x'.repeat(10_000));
  await rm(folder, { recursive: true });
  expect(await deletedBytes(container, '/tmp', 1_000)).toBe(0);
  await file.close();
});
