import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { TABLES } from '../../../../cli/compose/fields.ts';
import { codeBlocksOf } from '../../../support/tools/documents.ts';
import { remarksOf, translated } from './translated.ts';

const guide = readFileSync('docs/user-guide.md', 'utf8');
const [, section = ''] = /\n## Compose files\n(.*?)\n## /s.exec(guide) ?? [];

test('L71: the example of the user guide is translated', () => {
  const text = codeBlocksOf(section).find(({ info }) => info === 'yaml compose')?.text ?? '';
  const around = { env: { PASSWORD: 'p' } };
  expect(remarksOf(text, around)).toEqual({ leftOut: [], notes: ['12:3 services.report'] });
  const { name, will_end, services } = translated(text, around).description;
  expect([name, will_end]).toEqual(['shop', true]);
  expect(services.map(({ monitor, command }) => [monitor, command])).toEqual([
    [false, null],
    [true, `sh -c 'report --to "$SQL_HOST"'`],
  ]);
});

test('L71: the table of the user guide has every field that is translated', () => {
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  const cells = rows.map((row) => row.split('|')[1]).join();
  const named = new Set([...cells.matchAll(/`([^`.]+)[^`]*`/g)].map(([, field]) => field));
  expect(TABLES.service.translated.split(' ').filter((field) => !named.has(field))).toEqual([]);
});
