/** The rules of alerts that the documents print, by promtool. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { ensurePrometheus, outputOf } from '../../../support/tools/prometheus.ts';
import { suiteFolder } from '../../../support/tools/test-folder.ts';

const DOCS = resolve(import.meta.dirname, '../../../../docs');

const folder = suiteFolder();
let promtool: string;
beforeAll(async () => {
  ({ promtool } = await ensurePrometheus());
}, 180_000);

/** All blocks of rules in the documents. */
async function blocks(): Promise<string[]> {
  const names = (await readdir(DOCS)).filter((name) => name.endsWith('.md'));
  const texts = await Promise.all(names.map((name) => readFile(join(DOCS, name), 'utf8')));
  const fenced = texts.flatMap((text) =>
    [...text.matchAll(/^```ya?ml\n(.*?)^```/gms)].map(([, block = '']) => block),
  );
  return fenced.filter((block) => /^groups:/m.test(block));
}

const written = async (name: string, text: string): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
};

test('H778: promtool accepts every block of rules in the documents', async () => {
  const all = await blocks();
  expect(all.length).toBeGreaterThan(0);
  for (const [n, block] of all.entries())
    expect(await outputOf(promtool, ['check', 'rules', await written(`rules-${n}.yml`, block)])).toContain(
      'SUCCESS',
    );
});

test.each([
  ['the only control plane does not answer', ["up{instance='a'} 0+0x10"], true],
  ['it answered before and does not any more', ["berth_coordinator_active{instance='a'} 1 1 stale"], true],
  [
    'neither of a pair is active',
    ["berth_coordinator_active{instance='a'} 0+0x10", "berth_coordinator_active{instance='b'} 0+0x10"],
    true,
  ],
  ['nothing is scraped at all', [], true],
  ['the only control plane is active', ["berth_coordinator_active{instance='a'} 1+0x10"], false],
  [
    'one of a pair is active',
    ["berth_coordinator_active{instance='a'} 0+0x10", "berth_coordinator_active{instance='b'} 1+0x10"],
    false,
  ],
] as const)('H778: BerthInactive when %s', async (name, series, fires) => {
  const [block = ''] = (await blocks()).filter((text) => text.includes('BerthInactive'));
  const rules = await written('tested.yml', block);
  const input = series.map((one) => {
    const [metric, ...values] = one.split(' ');
    return { series: metric, values: values.join(' ') };
  });
  const alerts = fires ? [{ exp_labels: {} }] : [];
  const tests = {
    rule_files: [rules],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: input,
        alert_rule_test: [{ eval_time: '8m', alertname: 'BerthInactive', exp_alerts: alerts }],
      },
    ],
  };
  const file = await written(`${name.replaceAll(/\W/g, '-')}.yml`, JSON.stringify(tests));
  expect(await outputOf(promtool, ['test', 'rules', file])).toContain('SUCCESS');
});
