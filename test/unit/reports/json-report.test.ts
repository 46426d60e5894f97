import { readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { failuresIn } from '../../support/reports/count.ts';
import { scratchFolder } from '../../support/tools/folder.ts';
import { runTool } from '../../support/tools/tool.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

test('a suite whose beforeAll fails has a line with the reason', async () => {
  const folder = await scratchFolder('berth-report-');
  const code = `import { beforeAll, describe, test } from ${JSON.stringify(join(ROOT, 'node_modules/vitest/dist/index.js'))};
describe('workerd', () => {
  beforeAll(() => Promise.reject(new Error('no host')));
  test('H1: a host is there', () => {});
});`;
  await writeFile(join(folder, 'one.test.ts'), code);
  const reporter = join(ROOT, 'test/support/reports/json-report.ts');
  const report = join(folder, 'report.json');
  const options = ['--root', folder, '--reporter', reporter, '--outputFile.json', report];
  await expect(runTool('vitest', ['run', ...options])).rejects.toThrow();
  expect(failuresIn(await readFile(report, 'utf8'))).toEqual([
    `${join(folder, 'one.test.ts')}: the file itself: workerd: no host`,
  ]);
  await rm(folder, { recursive: true });
});
