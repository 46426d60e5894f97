/** The time that the validation of large descriptions takes. */
import { expect, test } from 'vitest';
import { application, service } from '../../support/fixtures/applications.ts';
import { problemsOf, withService } from '../../support/fixtures/problems.ts';

const letters = (n: number): string => [...String(n)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
const numbered = (count: number, text: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => text(n)).join('');

test.each([
  ['services', { services: Array.from({ length: 50_000 }, () => ({ total_count: 1000 })) }],
  ['variables', application(service({ environment: [['A', numbered(100_000, (n) => `{${letters(n)}}`)]] }))],
  ['environment', withService({ environment: Array.from({ length: 200_000 }, () => ({})) })],
  ['volumes', withService({ volumes: Array.from({ length: 50_000 }, (_, n) => ({ name: `v${n}` })) })],
  ['the name of a service', withService({ name: 'n'.repeat(1e6), total_count: 1000 })],
  ['words', withService({ command: `${"'' ".repeat(3e5)}{nope}` })],
  ['keys', Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`k${n}`, 1]))],
])('C25: validation takes little time for a megabyte of %s', (_, input) => {
  const began = performance.now();
  expect(problemsOf(input).length).toBeGreaterThan(0);
  expect(performance.now() - began).toBeLessThan(2_000);
});
