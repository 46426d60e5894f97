import { generateKeyPairSync } from 'node:crypto';
import { lstat, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { type Candidate, Updater } from '../../../../agent/update/updater.ts';
import { signRelease } from '../../../../release/sign-agent.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

const { privateKey } = generateKeyPairSync('ed25519');
const release = signRelease(Buffer.from('the new one'), '2.0.0', privateKey);
let folder: string;
let program: string;
let served: Uint8Array;
let downloads: number;
let failures: (string | undefined)[];

beforeEach(async () => {
  folder = await testFolder();
  program = join(folder, 'berth-agent.mjs');
  await writeFile(program, 'the old one');
  served = Buffer.from('the new one');
  downloads = 0;
  failures = [];
});

function updaterIn(at = program): Updater {
  const updater = new Updater({
    terms: { isAllowed: true, releaseKey: release.key, program: at, version: '1.0.0' },
    download: async () => {
      downloads += 1;
      return served;
    },
    log: () => {},
  });
  updater.reportTo((failure) => failures.push(failure));
  return updater;
}

const candidateOf = (updater: Updater) => eventually(() => updater.candidate) as Promise<Candidate>;

test('P202: the bundle lies beside the program, and takes its place only when it is installed', async () => {
  const updater = updaterIn();
  updater.request(release);
  updater.request(release);
  const candidate = await candidateOf(updater);
  expect([updater.signal.aborted, downloads]).toEqual([true, 1]);
  expect(await readFile(program, 'utf8')).toBe('the old one');
  await updater.install(candidate);
  expect(await readFile(program, 'utf8')).toBe('the new one');
  expect(await readdir(folder)).toEqual(['berth-agent.mjs']);
});

test('P203: a rejected candidate leaves no file, its reason is reported, and another update can begin', async () => {
  const updater = updaterIn();
  updater.request(release);
  await updater.reject(await candidateOf(updater), 'it ended');
  expect(failures.at(-1)).toBe('The update to 2.0.0 failed: it ended');
  expect(await readdir(folder)).toEqual(['berth-agent.mjs']);
  expect(updater.signal.aborted).toBe(false);
  const later: (string | undefined)[] = [];
  updater.reportTo((failure) => later.push(failure));
  updater.request(release);
  await eventually(() => updater.candidate);
  expect(later).toEqual(['The update to 2.0.0 failed: it ended', undefined]);
});

test('P202: a file that an agent has left when it was killed is removed at the start, and a link in its place is not followed', async () => {
  const candidate = join(folder, 'berth-agent.candidate.mjs');
  await writeFile(candidate, 'half of');
  await updaterIn().removeLeftover();
  expect(await readdir(folder)).toEqual(['berth-agent.mjs']);
  await updaterIn().removeLeftover();
  const other = join(folder, 'other');
  await writeFile(other, 'of somebody else');
  await symlink(other, candidate);
  const updater = updaterIn();
  updater.request(release);
  await updater.install(await candidateOf(updater));
  expect(await readFile(other, 'utf8')).toBe('of somebody else');
  expect(await readFile(program, 'utf8')).toBe('the new one');
  expect((await lstat(program)).isFile()).toBe(true);
});

test.each([
  ['a file other than the one that was signed', 'something else', '.', 'is not the one that was signed'],
  ['a folder that is not there', 'the new one', 'gone', 'ENOENT'],
])('P203: the agent goes on with %s, and states it', async (_, text, place, reason) => {
  served = Buffer.from(text);
  const updater = updaterIn(join(folder, place, 'berth-agent.mjs'));
  updater.request(release);
  expect(await eventually(() => failures.at(-1))).toContain(reason);
  expect([updater.candidate, updater.signal.aborted]).toEqual([undefined, false]);
});
