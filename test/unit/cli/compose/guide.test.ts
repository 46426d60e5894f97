import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { TABLES } from '../../../../cli/compose/fields.ts';
import { codeBlocksOf } from '../../../support/tools/documents.ts';
import { remarksOf, translated } from './translated.ts';

const guide = readFileSync('docs/user-guide.md', 'utf8');
const [, section = ''] = /\n## Compose files\n(.*?)\n## /s.exec(guide) ?? [];

test('L71: the example of the user guide is translated', () => {
  const [text = ''] = codeBlocksOf(section).flatMap(({ info, text }) =>
    info === 'yaml compose' ? [text] : [],
  );
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
  const named = new Set(
    rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, f]) => f)),
  );
  const { translated: all } = TABLES.service;
  const missing = all.split(' ').filter((field) => ![...named].some((one) => one?.split('.')[0] === field));
  expect(missing).toEqual([]);
});
