import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { startProgram } from '../../support/hosts/process.ts';
import { testFolder } from '../../support/tools/test-folder.ts';

let folder: string;
beforeEach(async () => {
  folder = await testFolder();
});

const make = async () => {
  const program = startProgram(['control-plane/local/assets/make-worker-assets.ts', folder]);
  expect([await program.waitForEnd(), program.output]).toEqual([0, '']);
};
const path = (name: string) => join(folder, name);

test('H261: simultaneous builds leave one complete bundle, and nothing else', async () => {
  await make();
  const made = (await readdir(folder)).sort();
  expect(made).toContain('berth-agent.mjs');
  await Promise.all(made.map((name) => rm(path(name), { recursive: true })));
  await Promise.all([make(), make(), make()]);
  expect((await readdir(folder)).sort()).toEqual(made);
  const bundle = await readFile(path('berth-agent.mjs'), 'utf8');
  expect(bundle).toMatch(/^\/\/ Berth agent .*\*\/\n$/s);
});

test('H261: the bundle is rebuilt if its sources differ, and left alone otherwise', async () => {
  await writeFile(path('berth-agent.mjs'), '// Berth agent 0.0.1 (0123456789abcdef)\n');
  await make();
  const { mtimeMs, size } = await stat(path('berth-agent.mjs'));
  expect(size).toBeGreaterThan(1_000_000);
  await make();
  expect((await stat(path('berth-agent.mjs'))).mtimeMs).toBe(mtimeMs);
});
