import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { FolderTakenError, lockFolder } from '../../../../agent/host/data-folder-lock.ts';
import { scratchFolder } from '../../../support/tools/folder.ts';

let folder: string;
let events: string[];

beforeEach(async () => {
  folder = await scratchFolder('berth-lock-');
  events = [];
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
});

const lock = (at = `${folder}/local`, waitMs = 0, signal = new AbortController().signal) =>
  lockFolder(at, { log: (event) => events.push(event), nowMs: () => 0, waitMs, signal });

test('P90: one of many agents that start at once gets the folder, whoever held it before', async () => {
  for (let round = 0; round < 3; round++) {
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => lock()));
    const taken = results.filter((result) => result.status === 'rejected');
    expect(taken.map(({ reason }) => reason)).toEqual(Array(7).fill(expect.any(FolderTakenError)));
    for (const result of results) if (result.status === 'fulfilled') result.value();
  }
  expect(events).toEqual([]);
});

test('P90: a file that only its owner can read names the holder to a second agent', async () => {
  const unlock = await lock();
  await expect(lock()).rejects.toThrow(`process ${process.pid} on `);
  expect((await stat(`${folder}/local`)).mode & 0o777).toBe(0o700);
  expect((await stat(`${folder}/local/agent.lock`)).mode & 0o777).toBe(0o600);
  unlock();
  (await lock())();
  expect(await readFile(`${folder}/local/agent.lock`, 'utf8')).toMatch(/^process .*\n$/);
});

test('P90: an ending agent has a moment to release the folder, and a stopped agent waits no longer', async () => {
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

test('P90: an agent that cannot lock its folder logs it and continues', async () => {
  await writeFile(`${folder}/local`, 'a file');
  (await lock())();
  expect(events).toEqual(['data-folder.lock-unavailable']);
});
