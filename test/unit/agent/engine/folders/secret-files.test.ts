/** Files with secrets on a file system in memory: which are there, who reaches them, and when they go. */
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SecretFiles } from '../../../../../agent/engine/folders/secret-files.ts';
import { keyOf } from '../../../../../shared/protocol/assignment.ts';
import { failure } from '../../../../support/fixtures/failures.ts';

const FIRST = { service: 5, generation: 1 };
const SECOND = { service: 5, generation: 2 };
const contents = [
  { path: '/etc/key', content: Buffer.from([0, 10, 255]).toString('base64') },
  { path: '/empty', content: '' },
];

let base: string;
let folder: string;
let files: SecretFiles;

beforeEach(async () => {
  base = `/dev/shm/berth-unit-${process.pid}-${performance.now()}`;
  folder = join(base, 'test', 'node1');
  files = new SecretFiles(folder);
});
afterEach(() => rm(base, { recursive: true, force: true }));

test('P224: each file has its bytes, every user of a container may read it, and only the agent reaches it', async () => {
  const umask = process.umask(0o077);
  const mounts = await files.write(FIRST, contents).finally(() => process.umask(umask));
  expect(mounts.map(({ target }) => target)).toEqual(['/etc/key', '/empty']);
  const [key, empty] = mounts.map(({ source }) => source);
  expect([...(await readFile(String(key)))]).toEqual([0, 10, 255]);
  expect((await readFile(String(empty))).length).toBe(0);
  const modeOf = async (path: string) => (await stat(path)).mode & 0o777;
  const modes = [folder, join(folder, '5.1'), String(key)].map(modeOf);
  expect(await Promise.all(modes)).toEqual([0o700, 0o700, 0o444]);
  await chmod(folder, 0o777);
  await files.write(SECOND, contents);
  expect(await modeOf(folder)).toBe(0o700);
});

test('P242: files stay with the key that has a container, and an earlier start of the same service has none', async () => {
  await files.write(FIRST, contents);
  await files.write(SECOND, contents);
  await mkdir(join(folder, 'left by a crash'));
  await files.retain((key) => keyOf(key) === keyOf(SECOND));
  expect(await readdir(folder)).toEqual(['5.2']);
  await files.remove(SECOND);
  expect(await readdir(folder)).toEqual([]);
});

test('P224: a folder on a disk is a condition of the host from the start on, until the engine has mounted files', async () => {
  const found: (string | undefined)[] = [];
  const onDisk = new SecretFiles(join(import.meta.dirname, 'never-made'), (problem) => found.push(problem));
  await onDisk.check();
  const remedy = expect.stringContaining('-v /run/berth:/run/berth');
  expect(found).toEqual([remedy]);
  await expect(stat(join(import.meta.dirname, 'never-made'))).rejects.toThrow('ENOENT');
  onDisk.mounted();
  expect(onDisk.notMounted()).toMatchObject({ kind: 'temporary', message: remedy });
  expect(found).toEqual([remedy, undefined, remedy]);
  const inMemory = new SecretFiles(folder, (problem) => found.push(problem));
  await inMemory.check();
  expect(found).toHaveLength(3);
  // A problem of the folder ends with it, one that the engine has found does not.
  inMemory.notMounted();
  await inMemory.check();
  expect(found.splice(3)).toEqual([remedy]);
  await mkdir(join(base, 'test'), { recursive: true });
  await writeFile(folder, '');
  await inMemory.check();
  await rm(folder);
  await inMemory.check();
  expect(found.splice(3)).toEqual([expect.stringContaining('somebody else'), undefined]);
});

test('P224: a disk, a link and a folder of somebody else are refused, with the remedy', async () => {
  const refusal = failure('temporary', 'BERTH_AGENT_SECRETS_DIR');
  const onDisk = join(import.meta.dirname, 'never-made');
  await expect(new SecretFiles(onDisk).write(FIRST, contents)).rejects.toMatchObject(refusal);
  await rm(onDisk, { recursive: true, force: true });
  await mkdir(join(base, 'elsewhere'), { recursive: true });
  await mkdir(join(base, 'test'));
  await symlink(join(base, 'elsewhere'), folder);
  await expect(files.write(FIRST, contents)).rejects.toMatchObject(refusal);
  expect(await readdir(join(base, 'elsewhere'))).toEqual([]);
  const problems: (string | undefined)[] = [];
  const elsewhere = new SecretFiles(undefined, (problem) => problems.push(problem));
  await expect(elsewhere.write(FIRST, contents)).rejects.toMatchObject(failure('temporary'));
  expect(problems).toEqual([expect.stringContaining('engine is on another machine')]);
});
