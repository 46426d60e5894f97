import { readdir, readFile, readlink, stat, writeFile } from 'node:fs/promises';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { FolderTakenError, lockFolder } from '../../../../agent/host/data-folder-lock.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

let folder: string;
let logged: object[];

beforeEach(async () => {
  folder = await testFolder();
  logged = [];
});

const lock = (waitMs = 0, signal = new AbortController().signal) => {
  const log = (event: string, fields = {}) => logged.push({ event, ...fields });
  return lockFolder(`${folder}/local`, { log, nowMs: () => 0, waitMs, signal });
};

/** The files of the lock that this process has open. */
async function openLocks(): Promise<number> {
  const ids = await readdir('/proc/self/fd');
  const paths = await Promise.all(ids.map((id) => readlink(`/proc/self/fd/${id}`).catch(() => '')));
  return paths.filter((path) => path.startsWith(folder)).length;
}

test('P90: one of many agents that start at once gets the folder, whoever held it before', async () => {
  for (let round = 0; round < 3; round++) {
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => lock()));
    const taken = results.filter((result) => result.status === 'rejected');
    expect(taken.map(({ reason }) => reason)).toEqual(Array(7).fill(expect.any(FolderTakenError)));
    for (const result of results) if (result.status === 'fulfilled') result.value();
  }
  expect(logged).toEqual([]);
});

test('P90: a file that only its owner can read names the holder to a second agent', async () => {
  const unlock = await lock();
  await expect(lock(1)).rejects.toThrow(`process ${process.pid} on `);
  expect(await openLocks()).toBe(1);
  expect((await stat(`${folder}/local`)).mode & 0o777).toBe(0o700);
  expect((await stat(`${folder}/local/agent.lock`)).mode & 0o777).toBe(0o600);
  unlock();
  (await lock())();
  expect(await readFile(`${folder}/local/agent.lock`, 'utf8')).toMatch(/^process .*\n$/);
});

test('P90: an ending agent has a moment to release the folder, and a stopped agent waits no longer', async () => {
  const unlock = await lock();
  const next = lock(60_000);
  unlock();
  const release = await next;
  const stop = new AbortController();
  const third = lock(60_000, stop.signal);
  stop.abort();
  (await third)();
  release();
});

test('P90: an agent that cannot lock its folder logs it and continues', async () => {
  await writeFile(`${folder}/local`, 'a file');
  (await lock())();
  expect(logged).toMatchObject([{ event: 'data-folder.lock-unavailable' }]);
});

test.each([
  ['exit 1', undefined],
  ['exit 2', 'flock ended with 2'],
  ['echo flock: bad file >&2; exit 1', 'flock: bad file'],
])('P90: a program flock that does %j, which means taken or else logs %j', async (script, reason) => {
  await writeFile(`${folder}/flock`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  vi.stubEnv('PATH', `${folder}:${process.env.PATH}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const locked = lock();
  if (reason === undefined) await expect(locked).rejects.toThrow(FolderTakenError);
  else (await locked)();
  expect(logged).toMatchObject(reason === undefined ? [] : [{ reason: expect.stringContaining(reason) }]);
});
