/** The bundle of the command line: what it loads at its start, and how Node starts it. */
import { spawnSync } from 'node:child_process';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bundleCommand } from '../../../release/command.ts';
import { scratchFolder } from '../../support/tools/folder.ts';
import { pathWithNode20 } from '../../support/tools/runnable.ts';

const STATIC_IMPORT = /^(?:import|\}) ?(?:from )?"\.\/([^"]+)";$/gm;
/** Only YAML has it. */
const OF_YAML = 'tag:yaml.org,2002:';

test('L78: the command line loads the code for YAML only later', { timeout: 60_000 }, async () => {
  const folder = await scratchFolder('berth-command-');
  onTestFinished(() => rm(folder, { recursive: true }));
  await bundleCommand(join(folder, 'berth.js'));
  const texts = new Map(
    await Promise.all(
      (await readdir(folder)).map(
        async (name) => [name, await readFile(join(folder, name), 'utf8')] as const,
      ),
    ),
  );
  const loaded = new Set(['berth.js']);
  for (const name of loaded)
    for (const [, file = ''] of (texts.get(name) ?? '').matchAll(STATIC_IMPORT)) loaded.add(file);
  expect(loaded.size).toBeGreaterThan(1);
  expect(loaded.size).toBeLessThan(texts.size);
  const withYaml = [...texts].filter(([, text]) => text.includes(OF_YAML)).map(([name]) => name);
  expect(withYaml).toHaveLength(1);
  expect(loaded).not.toContain(withYaml[0]);
});

test('L191: on Node 20, too, --env-file is an option of berth, and not of node', {
  timeout: 60_000,
}, async () => {
  const folder = await scratchFolder('berth-command-');
  onTestFinished(() => rm(folder, { recursive: true }));
  const command = join(folder, 'berth.js');
  await bundleCommand(command);
  const words = ['run', '--image', 'debian:13', '--env-file', 'missing', '--print'];
  const env = { PATH: await pathWithNode20(folder), HOME: folder };
  const { status, stderr } = spawnSync(command, words, { cwd: folder, encoding: 'utf8', env });
  expect([status, stderr]).toEqual([125, expect.stringMatching(/missing/)]);
  expect(stderr).not.toMatch(/^node:/);
});
