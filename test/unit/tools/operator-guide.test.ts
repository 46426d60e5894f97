import { describe, expect, test } from 'vitest';
import { readNodeConfig } from '../../../control-plane/config.ts';
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

/** The words in code style at the beginning of the rows below a heading. */
const namesBelow = (heading: string): string[] =>
  tableBelow(heading).map(([name = '']) => name.replaceAll('`', ''));

const sorted = (names: Iterable<string>): string[] => [...new Set(names)].sort();

const matchesIn = (code: string, pattern: RegExp): string[] =>
  [...code.matchAll(pattern)].map(([match, name = match]) => name);

const programs = (part: string) =>
  sourcesIn(part).filter(({ path }) => !path.startsWith('control-plane/web/browser/'));

describe('settings', () => {
  const settingsIn = (path: string): string[] =>
    matchesIn(sourceOf(path).code, /\b(BERTH_[A-Z_]*[A-Z]|DOCKER_HOST)\b/g);

  test('the guide lists exactly the settings of the control plane, and separately the renamed ones', () => {
    const renamed = namesBelow('Renamed settings');
    const files = [
      'control-plane/config.ts',
      'control-plane/operations/apps/settings.ts',
      'control-plane/settings/queue-settings.ts',
      'control-plane/settings/stream-settings.ts',
      'control-plane/operations/sign-on/settings.ts',
      'control-plane/directory/ldap-settings.ts',
    ];
    const current = files.flatMap(settingsIn).filter((name) => !renamed.includes(name));
    expect(sorted(namesBelow('Settings of the control plane'))).toEqual(sorted(current));
    const code = programs('control-plane').map((source) => source.code);
    expect(renamed.filter((name) => !code.some((text) => text.includes(name)))).toEqual([]);
  });

  test('the guide lists exactly the settings of the agent', () => {
    expect(sorted(namesBelow('Settings of the agent'))).toEqual(sorted(settingsIn('agent/config.ts')));
  });

  test('the guide lists the defaults of the control plane with their values', () => {
    const defaults = Object.entries(readNodeConfig({})).filter(([, value]) => value !== undefined);
    const listed = new Map(
      tableBelow('Settings of the control plane').map(([name, value]) => [name?.replaceAll('`', ''), value]),
    );
    for (const [name, value] of defaults) expect([name, listed.get(name)]).toEqual([name, `\`${value}\``]);
  });

  test('each other variable in the guide occurs in the sources', () => {
    const script = sourceOf('agent/install/install.sh').text;
    const code = [...sourcesIn('agent', 'control-plane').map((source) => source.code), script].join('\n');
    const names = namesBelow('Other variables');
    expect(names.length).toBeGreaterThan(0);
    expect(names.filter((name) => !code.includes(name))).toEqual([]);
  });
});

describe('log events', () => {
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
});

describe('quoted messages', () => {
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
});
