/** The bundle of the command line: what it loads at its start. */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bundleCommand } from '../../../release/command.ts';
import { scratchFolder } from '../../support/tools/folder.ts';

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
