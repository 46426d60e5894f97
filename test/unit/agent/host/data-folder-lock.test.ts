import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { FolderTakenError, lockFolder } from '../../../../agent/host/data-folder-lock.ts';
import { scratchFolder } from '../../../support/tools/folder.ts';

let folder: string;
let told: string[];

beforeEach(async () => {
  folder = await scratchFolder('berth-lock-');
  told = [];
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
});

const lock = (at = `${folder}/local`, waitMs = 0, signal = new AbortController().signal) =>
  lockFolder(at, { log: (event) => told.push(event), nowMs: () => 0, waitMs, signal });

test('P90: of many agents that begin at once one has the folder, whoever had it before', async () => {
  for (let round = 0; round < 3; round++) {
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => lock()));
    const taken = results.filter((result) => result.status === 'rejected');
    expect(taken.map(({ reason }) => reason)).toEqual(Array(7).fill(expect.any(FolderTakenError)));
    for (const result of results) if (result.status === 'fulfilled') result.value();
  }
  expect(told).toEqual([]);
});

test('P90: who has the folder is told to whoever comes second, in a file for its owner alone', async () => {
  const unlock = await lock();
  await expect(lock()).rejects.toThrow(`process ${process.pid} on `);
  expect((await stat(`${folder}/local`)).mode & 0o777).toBe(0o700);
  expect((await stat(`${folder}/local/agent.lock`)).mode & 0o777).toBe(0o600);
  unlock();
  (await lock())();
  expect(await readFile(`${folder}/local/agent.lock`, 'utf8')).toMatch(/^process .*\n$/);
});

test('P90: an agent that was told to end has a moment to do so; who is told to end meanwhile waits no longer', async () => {
  const unlock = await lock();
  const next = lock(undefined, 60_000);
  unlock();
  const release = await next;
  const stop = new AbortController();
  const third = lock(undefined, 60_000, stop.signal);
  stop.abort();
  (await third)();
  release();
});

test('P90: where a folder can not be locked the agent says so and goes on', async () => {
  await writeFile(`${folder}/local`, 'a file');
  (await lock())();
  expect(told).toEqual(['data-folder.lock-unavailable']);
});
