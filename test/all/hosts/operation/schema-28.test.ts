/** `npm start` and `npm run restore` with a database of schema 28, the last before the baseline. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../support/hosts/databases.ts';
import { freePort } from '../../../support/hosts/port.ts';
import { startProgram } from '../../../support/hosts/process.ts';
import { fillAsSchema28 } from '../../../support/hosts/schema-28.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await testFolder();
  file = join(folder, 'berth.db');
  const db = await openDatabase(`file:${file}`);
  await fillAsSchema28(db);
  await db.close();
});

async function query(path: string, sql: string) {
  const db = await openDatabase(`file:${path}`);
  try {
    return await db.query(sql);
  } finally {
    await db.close();
  }
}
const newestIn = async (path: string) =>
  (await query(path, 'SELECT max(version) AS version FROM schema_migrations'))[0]?.version;
const namesIn = async (path: string) =>
  (await query(path, 'SELECT username FROM users WHERE id = 7')).map(({ username }) => username);

const run = (program: string, args: string[] = []) =>
  startProgram([`control-plane/${program}.ts`, ...args], { env: { BERTH_DATA_DIR: folder } });

async function start() {
  const env = { BERTH_DATA_DIR: folder, BERTH_PORT: String(await freePort()), BERTH_LOCAL_AGENT: 'off' };
  const program = startProgram(['control-plane/node.ts'], { env });
  onTestFinished(async () => {
    if (program.ended === undefined) await program.kill();
  });
  return program;
}

test('H507: a start takes over a database of schema 28, after a copy that a restore accepts', async () => {
  const program = await start();
  await program.waitFor(/listens on/);
  expect(program.output).toMatch(/database\.backed-up.*berth\.db\.before-/);
  expect(await program.stop()).toBe(0);
  expect(await namesIn(file)).toEqual(['alice']);
  const copies = (await readdir(folder)).filter((name) => name.startsWith('berth.db.before-'));
  expect(copies).toHaveLength(1);
  const copy = join(folder, copies[0] ?? '');
  expect(await newestIn(copy)).toBe(28);

  await rm(file);
  const restored = run('restore', [copy]);
  expect([await restored.waitForEnd(), restored.output]).toEqual([0, restored.output]);
  expect(await namesIn(file)).toEqual(['alice']);
  expect(await newestIn(file)).toBeGreaterThan(28);
});
