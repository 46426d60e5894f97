/** The bundle of the command line: what it loads at its start, and how Node starts it. */
import { spawnSync } from 'node:child_process';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundleCommand } from '../../../release/command.ts';
import { scratchFolder } from '../../support/tools/folder.ts';
import { pathWithNode20 } from '../../support/tools/runnable.ts';

const STATIC_IMPORT = /^(?:import|\}) ?(?:from )?"\.\/([^"]+)";$/gm;
/** Only YAML has it. */
const OF_YAML = 'tag:yaml.org,2002:';

let folder: string;
let command: string;
beforeAll(async () => {
  folder = await scratchFolder('berth-command-');
  command = join(folder, 'berth.js');
  await bundleCommand(command);
});
afterAll(() => rm(folder, { recursive: true }));

test('L78: the command line loads the code for YAML only later', async () => {
  const texts = new Map<string, string>();
  for (const name of await readdir(folder)) texts.set(name, await readFile(join(folder, name), 'utf8'));
  const loaded = new Set(['berth.js']);
  for (const name of loaded)
    for (const [, file = ''] of (texts.get(name) ?? '').matchAll(STATIC_IMPORT)) loaded.add(file);
  expect(loaded.size).toBeGreaterThan(1);
  expect(loaded.size).toBeLessThan(texts.size);
  const withYaml = [...texts].filter(([, text]) => text.includes(OF_YAML)).map(([name]) => name);
  expect(withYaml).toHaveLength(1);
  expect(loaded).not.toContain(withYaml[0]);
});

test('L191: on Node 20, too, --env-file is an option of berth, and not of node', async () => {
  const words = ['run', '--image', 'debian:13', '--env-file', 'missing', '--print'];
  const env = { PATH: await pathWithNode20(folder), HOME: folder };
  const { status, stderr } = spawnSync(command, words, { cwd: folder, encoding: 'utf8', env });
  expect([status, stderr]).toEqual([125, expect.stringMatching(/missing/)]);
  expect(stderr).not.toMatch(/^node:/);
});
