/** The processor time that hostile Compose files take. */
import { expect, test } from 'vitest';
import { MAX_BYTES } from '../../../cli/compose/document.ts';
import { fill, mainFile, problemsOf } from '../../unit/cli/compose/translated.ts';

const service = mainFile('');

/** Texts of any length whose work could grow faster than they do. */
const HOSTILE: Record<string, (length: number) => string> = {
  'open lists': (length) => fill('[', length),
  'open mappings': (length) => fill('{a: ', length),
  'lists in lists': (length) => fill('- ', length),
  'many keys': (length) => keys('', length),
  'many services': (length) => `services:\n${keys('  ', length, '{image: i}')}`,
  'unknown fields': (length) => mainFile(keys('', length).trimEnd()),
  'many variables': (length) => mainFile(`environment:\n${keys('  ', length).trimEnd()}`),
  'anchors and aliases': (length) => fill('- &a 1\n- *a\n', length),
  'other anchors': (length) => keys('', length, '&a x'),
  'merges of a large mapping': (length) =>
    `x-a: &a\n${keys('  ', length / 2)}x-b: [${fill('{<<: *a},', length / 2)}]\n${service}`,
  'merges of merges': (length) => fill('- &a {k: 1, <<: *a}\n', length).replace('<<: *a', 'l: 2'),
  'aliases of one value': (length) => `x-a: &a 1\nx-b: [${fill('*a,', length)}]\n${service}`,
  documents: (length) => fill('---\n', length),
  tags: (length) => fill('- !x y\n', length),
  'open references': (length) => mainFile(`command: "${fill('${A:-', length)}"`),
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference of a Compose file.
  references: (length) => mainFile(`command: "${fill('${A}', length)}"`),
  braces: (length) => mainFile(`command: "${fill('{{a', length)}"`),
  blanks: (length) => mainFile(`command: "a${fill(' ', length)}b"`),
  hosts: (length) => mainFile(`command: "${fill('a=', length)}"`),
  slashes: (length) => mainFile(`volumes: ["/a:${fill('/', length)}a"]`),
  'volumes of one name': (length) => mainFile(`volumes:\n${fill('- /a:/b\n', length).trimEnd()}`),
  'ranges of ports': (length) => mainFile(`ports:\n${fill('- 1-200\n', length).trimEnd()}`),
  colons: (length) => mainFile(`ports: ["${fill(':', length)}"]`),
  dependencies: (length) => mainFile(`depends_on:\n${fill('- main\n', length).trimEnd()}`),
  'files of variables': (length) => mainFile(`env_file:\n${fill('- a\n', length).trimEnd()}`),
};
const keys = (indent: string, length: number, value = 'x'): string => {
  const one = (n: number) => `${indent}k${String(n).padStart(6, '0')}: ${value}\n`;
  return Array.from({ length: Math.floor(length / one(0).length) }, (_, n) => one(n)).join('');
};

/** Enough for a difference between the work of both sizes. */
const LARGE_BYTES = MAX_BYTES / 4;

const timeOf = (text: string): number => {
  const before = process.cpuUsage();
  problemsOf(text);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
};

test.each(Object.entries(HOSTILE))('L75: the work for %s grows no faster than the text', (_, of) => {
  const [small, large] = [of(LARGE_BYTES / 8), of(LARGE_BYTES)];
  timeOf(small);
  // Eight times the text; sixty-four times the work would be quadratic.
  const boundMs = 32 * Math.max(timeOf(small), 3);
  const isWithin = () => timeOf(large) < boundMs;
  expect(isWithin() || isWithin()).toBe(true);
});
