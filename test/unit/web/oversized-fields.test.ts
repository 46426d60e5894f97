import { expect, test } from 'vitest';
import { readValue } from '../../../control-plane/core/shop/shop-parameters.ts';
import { checkSimple, readSimple } from '../../../control-plane/web/description/simple-application.ts';

/** As much as a body may have. What needs more than one look at each letter takes minutes for it. */
const MOST = 2 ** 20;

test('H1: a name as long as a body is refused, whatever letters it has', () => {
  const { problems } = checkSimple(readSimple(new URLSearchParams({ name: `a${'-'.repeat(MOST)}a` })));
  expect(problems).toHaveProperty('name');
});

test('H1: a number as long as a body is none, and is read once', () => {
  const parameter = { type: 'float', default: '1', min: null, max: null, step: null } as const;
  expect(readValue(parameter, `${'1'.repeat(MOST)}x`)).toEqual({ problem: 'must be a number' });
  for (const text of ['1', '1.', '.5', '+1.5e3']) expect(readValue(parameter, text)).toEqual({ value: text });
});
