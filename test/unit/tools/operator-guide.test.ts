import { expect, test } from 'vitest';
import type * as z from 'zod';
import { settingsSchema } from '../../../agent/settings.ts';
import { readNodeConfig } from '../../../control-plane/config.ts';
import { nodeSettings } from '../../../control-plane/settings.ts';
import { defaultLimits, limitNames } from '../../../shared/settings/limits.ts';
import { parseBytes } from '../../../shared/sizes.ts';
import { sourceOf, sourcesIn } from '../../support/tools/sources.ts';

const guide = sourceOf('docs/operator-guide.md').text;

/** Cells of the table below a heading, by row, without the header. */
function tableBelow(heading: string): string[][] {
  const [, below = ''] = guide.split(`\n### ${heading}\n`);
  const [section = ''] = below.split(/\n#{1,3} /);
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(1).map((row) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

const plain = (cell: string): string => cell.replaceAll('`', '');

/** The words in code style at the beginning of the rows below a heading. */
const namesBelow = (heading: string): string[] => tableBelow(heading).map(([name = '']) => plain(name));

const sorted = (names: Iterable<string>): string[] => [...new Set(names)].sort();

const matchesIn = (code: string, pattern: RegExp): string[] =>
  [...code.matchAll(pattern)].map(([match, name = match]) => name);

const programs = (part: string) =>
  sourcesIn(part).filter(({ path }) => !path.startsWith('control-plane/web/browser/'));

const names = (schema: z.ZodObject): string[] => Object.keys(schema.shape);
const listed = (heading: string) =>
  new Map(tableBelow(heading).map(([name = '', value = '']) => [plain(name), plain(value)]));

test.each([
  ['control plane', nodeSettings],
  ['agent', settingsSchema],
])('the guide lists exactly the settings of the %s', (name, schema) => {
  expect(sorted(namesBelow(`Settings of the ${name}`))).toEqual(sorted(names(schema)));
});

test('the guide lists the defaults of the control plane with their values', () => {
  const defaults = Object.entries(readNodeConfig({})).filter(([, value]) => value !== undefined);
  const inGuide = listed('Settings of the control plane');
  for (const [name, value] of defaults) {
    const text = typeof value === 'object' ? '{}' : String(value);
    expect([name, inGuide.get(name)]).toEqual([name, text]);
  }
});

test('the guide lists exactly the limits, with their defaults', () => {
  const limits = listed('Limits');
  expect([...limits.keys()].filter((name) => !name.startsWith('limit of '))).toEqual(limitNames);
  for (const name of limitNames) {
    const { [name]: value } = defaultLimits;
    expect([name, parseBytes(limits.get(name) ?? '')]).toEqual([name, value]);
  }
});

test('each other variable in the guide occurs in the sources', () => {
  const script = sourceOf('agent/install/install.sh').text;
  const code = [...sourcesIn('agent', 'control-plane').map((source) => source.code), script].join('\n');
  const names = namesBelow('Other variables');
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => !code.includes(name))).toEqual([]);
});

const EVENT = /(?:log|logger)\(\s*'([a-z-]+\.[a-z-]+)'/gi;
const eventsOf = (part: string): string[] => programs(part).flatMap(({ code }) => matchesIn(code, EVENT));

test.each([
  ['control plane', 'control-plane'],
  ['agent', 'agent'],
])('the guide lists exactly the log events of the %s', (name, part) => {
  const events = sorted(eventsOf(part));
  expect(events.length).toBeGreaterThan(15);
  expect(sorted(namesBelow(`Events of the ${name}`))).toEqual(events);
});

/** Sources in which the parts of messages over several lines are joined. */
const messages = [...programs('agent'), ...programs('control-plane'), sourceOf('agent/install/install.sh')]
  .map(({ text }) => text.replace(/['`]\s*\+\s*['`]/g, ''))
  .join('\n');

test('each message that the guide quotes occurs in the sources, apart from its variable parts', () => {
  const quotes = matchesIn(guide, /^> (.*)$/gm);
  expect(quotes.length).toBeGreaterThan(30);
  const missing = quotes.flatMap((quote) => {
    const parts = quote.split('…').map((part) => part.replace(/^\W+|\W+$/g, ''));
    return parts.some((part) => !messages.includes(part)) ? [quote] : [];
  });
  expect(missing).toEqual([]);
});
